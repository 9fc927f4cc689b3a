import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../../src/cluster/index.ts'
import { type ApiAccess, connect } from '../../tools/api.ts'
import { at, type Json, listAt, textAt } from '../../tools/json.ts'
import { expectStatus } from '../../tools/use-cluster.ts'

/** What happens to lists and watches when the past they ask for is compacted away; here we hold the store ourselves. */

const TEMPLATES = '/api/v1/namespaces/default/podtemplates'
const TOTAL = 40
let cluster: Cluster
let api: ApiAccess
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-expired-'))
  cluster = await startCluster({ controllers: false })
  const kubeconfig = path.join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, cluster.kubeconfig)
  api = connect(kubeconfig)
  const template = { spec: { containers: [{ name: 'test', image: 'test2' }] } }
  for (let i = 0; i < TOTAL; i++) {
    const name = `template-${String(i).padStart(4, '0')}`
    expectStatus(await api.create(TEMPLATES, { metadata: { name }, template }), 201)
  }
})

afterAll(async () => {
  api?.close()
  await cluster?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const names = (page: Json) => listAt(page, 'items').map((item) => textAt(item, 'metadata.name'))
const next = (token: string) => api.get(`${TEMPLATES}?limit=10&continue=${encodeURIComponent(token)}`)

/** Writes something and forgets everything before it. */
async function forget(): Promise<void> {
  await api.create('/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'later-' } })
  await cluster.store.compact(await cluster.store.revision())
}

describe('after a compaction', () => {
  test('a continued list is expired, and offers to go on inconsistently', async () => {
    const first = expectStatus(await api.get(`${TEMPLATES}?limit=10`), 200).object
    const token = textAt(first, 'metadata.continue')
    expectStatus(await api.delete(`${TEMPLATES}/template-0025`), 200)
    await forget()
    const expired = expectStatus(await next(token), 410)
    expect(expired.object).toMatchObject({ kind: 'Status', reason: 'Expired', code: 410 })
    const fresh = textAt(expired.object, 'metadata.continue')
    expect(fresh).not.toBe(token)
    const seen = names(first)
    const versions = new Set<string>()
    for (let more = fresh; more; ) {
      const page = expectStatus(await next(more), 200).object
      seen.push(...names(page))
      versions.add(textAt(page, 'metadata.resourceVersion'))
      more = String(at(page, 'metadata.continue') ?? '')
    }
    expect(seen).toHaveLength(TOTAL - 1)
    expect(seen).not.toContain('template-0025')
    expect([...versions][0]).not.toBe(textAt(first, 'metadata.resourceVersion'))
  })

  test('a continued list is expired also where nothing of it changed', async () => {
    const first = expectStatus(await api.get(`${TEMPLATES}?limit=10`), 200).object
    const token = textAt(first, 'metadata.continue')
    expectStatus(await next(token), 200)
    await forget()
    const expired = expectStatus(await next(token), 410).object
    const page = expectStatus(await next(textAt(expired, 'metadata.continue')), 200).object
    expect(names(page)[0]! > names(first).at(-1)!).toBe(true)
    expect(textAt(page, 'metadata.resourceVersion')).not.toBe(textAt(first, 'metadata.resourceVersion'))
  })

  test('an exact list of the past is expired', async () => {
    const old = textAt((await api.get(TEMPLATES)).object, 'metadata.resourceVersion')
    await forget()
    await forget()
    const answer = await api.get(`${TEMPLATES}?resourceVersion=${old}&resourceVersionMatch=Exact`)
    expect(expectStatus(answer, 410).object).toMatchObject({ kind: 'Status', code: 410 })
  })

  test('a watch from before the kept past is told so', async () => {
    const watch = await api.watch(`${TEMPLATES}?watch=1&resourceVersion=1`)
    const event = watch.status === 200 ? await watch.next() : { type: 'ERROR', object: { code: watch.status } }
    expect(event?.type).toBe('ERROR')
    expect(at(event?.object, 'code')).toBe(410)
    watch.close()
  })
})
