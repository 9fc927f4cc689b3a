import { type Control, type Finding, miss, notApplicable, pass } from '../control.ts'
import type { CisFacts, FileRole, NodeFacts } from '../facts.ts'

export type CisControl = Control<CisFacts>
type Check = CisControl['check']

/** A control that counts: missing it is a failure. */
export const scored = (id: string, title: string, remedy: string, check: Check): CisControl => ({
  id,
  title,
  scored: true,
  remedy,
  check,
})

/** A control that a person has to judge: missing it is a warning. */
export const advised = (id: string, title: string, remedy: string, check: Check): CisControl => ({
  ...scored(id, title, remedy, check),
  scored: false,
})

const octal = (mode: number) => mode.toString(8).padStart(3, '0')

/** All files of these roles have no permissions beyond `most`. */
export const modes =
  (most: number, ...roles: readonly FileRole[]): Check =>
  ({ files }) => {
    const found = files.filter(({ role }) => roles.includes(role))
    if (found.length === 0) return notApplicable(`there is no file of this kind (${roles.join(', ')})`)
    const loose = found.filter(({ mode }) => (mode & ~most) !== 0)
    return listed(
      loose.map(({ path, mode }) => `${path} has mode ${octal(mode)}`),
      found.map(({ path, mode }) => `${path} ${octal(mode)}`),
    )
  }

/** All files of these roles belong to the user that runs the server. */
export const owners =
  (...roles: readonly FileRole[]): Check =>
  ({ files, owner }) => {
    const found = files.filter(({ role }) => roles.includes(role))
    if (found.length === 0) return notApplicable(`there is no file of this kind (${roles.join(', ')})`)
    const foreign = found.filter(({ uid }) => uid !== owner)
    return listed(
      foreign.map(({ path, uid }) => `${path} belongs to user ${uid}, not ${owner}`),
      [`user ${owner} owns ${found.map(({ path }) => path).join(', ')}`],
    )
  }

const MOST_NAMED = 5

/** Passes if nothing is wrong; names what is, or what was looked at. */
export const listed = (wrong: readonly string[], seen: readonly string[]): Finding =>
  wrong.length > 0 ? miss(some(wrong)) : pass(some(seen))

export function some(all: readonly string[]): string {
  const rest = all.length - MOST_NAMED
  return rest > 0 ? `${all.slice(0, MOST_NAMED).join('; ')}; and ${rest} more` : all.join('; ')
}

/** For each node: what is wrong there, or what was seen. Undefined if it cannot be told. */
export type NodeCheck = (
  node: NodeFacts,
  facts: CisFacts,
) => { readonly isGood: boolean; readonly evidence: string } | undefined

export const onNodes =
  (check: NodeCheck): Check =>
  (facts) => {
    const { nodes } = facts
    if (nodes.length === 0) return notApplicable('there is no node with a kubelet')
    const findings = nodes.map((node) => ({ node: node.name, found: check(node, facts) }))
    const text = ({ node, found }: (typeof findings)[number]) => `${node}: ${found?.evidence ?? 'not seen from here'}`
    const bad = findings.filter(({ found }) => found?.isGood === false)
    if (bad.length > 0) return miss(some(bad.map(text)))
    const isAllSeen = findings.every(({ found }) => found !== undefined)
    return { outcome: isAllSeen ? 'pass' : 'unknown', evidence: some(findings.map(text)) }
  }
