/** Tables of what a right gives: each row is a user of its own with these rules, one request, and how it is answered. */
import { expect, test } from 'vitest'
import type { AskedCluster, Request, Rule } from './asking.ts'

export interface Row {
  readonly why: string
  readonly rules: readonly Rule[]
  /** In all namespaces, and for what is in none; else in the namespace `own`. */
  readonly everywhere?: boolean
  readonly request: Request
  readonly code: number
  readonly says?: string
}

export const of = (group: string, resources: string, verbs: string, resourceNames?: string[]): Rule => ({
  apiGroups: [group],
  resources: resources.split(' '),
  verbs: verbs.split(' '),
  ...(resourceNames && { resourceNames }),
})

export const core = (resources: string, verbs: string, resourceNames?: string[]): Rule =>
  of('', resources, verbs, resourceNames)

export const row = (
  why: string,
  rules: Rule | readonly Rule[],
  request: Request | string,
  code: number,
  says?: string,
): Row => ({
  why,
  rules: [rules].flat() as Rule[],
  request: typeof request === 'string' ? { ask: request } : request,
  code,
  ...(says && { says }),
})

export const everywhere = (one: Row): Row => ({ ...one, everywhere: true })

let users = 0

export function matrix(cluster: () => AskedCluster, rows: readonly Row[]): void {
  test.each(rows.map((one) => [one.why, one.code, one] as const))('%s (%s)', async (_, code, one) => {
    const user = `user-${users++}`
    await cluster().grant(user, one.rules, one.everywhere ? undefined : 'own')
    const { code: given, text } = await cluster().send(user, one.request)
    expect(`${given} ${text}`).toMatch(new RegExp(`^${code} `))
    expect(text).toContain(one.says ?? '')
    if (given >= 300) expect(text).not.toMatch(/hunter2|aHVudGVyMg/)
  })
}
