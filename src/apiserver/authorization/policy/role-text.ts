import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'

/** A role as it is written down here. */
export interface RoleText {
  /** `name`, or `namespace/name`. */
  readonly name: string
  /** Labels of `rbac.authorization.k8s.io/...` by which other roles take its rules over. */
  readonly labels: readonly string[]
  readonly rules: readonly PolicyRule[]
}

const VERBS: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'delete', 'deletecollection', 'patch', 'update'],
  all: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
}
const EVENTS = 'create patch update -> core,events.k8s.io: events'

/**
 * Reads roles from lines. A line at the margin names a role and, in brackets, its labels; indented lines are its rules:
 *
 *     name (label)
 *       get list -> core,apps: pods deployments/scale [name]
 *       read -> core: configmaps        (`read`, `write` and `all` stand for verbs)
 *       get -> /healthz /livez/*
 *       events                          (may tell what happened)
 *         a line that is indented deeper goes on with the former
 */
export function parseRoles(text: string): RoleText[] {
  const roles: { name: string; labels: string[]; rules: PolicyRule[] }[] = []
  for (const line of joinLines(text)) {
    if (!line.startsWith(' ')) {
      const [name, ...labels] = line.split(' ')
      roles.push({ name: name!, labels: labels.map((label) => label.slice(1, -1)), rules: [] })
    } else roles.at(-1)!.rules.push(parseRule(line.trim()))
  }
  return roles
}

function joinLines(text: string): string[] {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    if (line.startsWith('    ')) lines.push(`${lines.pop()} ${line.trim()}`)
    else lines.push(line)
  }
  return lines
}

export function parseRule(line: string): PolicyRule {
  const [who, what = ''] = (line === 'events' ? EVENTS : line).split(' -> ')
  const verbs = (VERBS[who!] ?? who!.split(' ')).slice()
  const colon = what.indexOf(': ')
  if (colon < 0) return { nonResourceURLs: what.split(' '), verbs }
  const apiGroups = what
    .slice(0, colon)
    .split(',')
    .map((group) => (group === 'core' ? '' : group))
  const bracket = what.indexOf(' [', colon)
  if (bracket < 0) return { apiGroups, resources: what.slice(colon + 2).split(' '), verbs }
  const resources = what.slice(colon + 2, bracket).split(' ')
  return { apiGroups, resources, resourceNames: what.slice(bracket + 2, -1).split(' '), verbs }
}
