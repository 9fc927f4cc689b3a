import type { Kind } from '../../api/kind.ts'
import { getOrCreate } from '../../base/get-or-create.ts'

/** The groups of the server itself, as upstream orders them; others follow by name. */
const GROUP_ORDER: readonly string[] = [
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
]
const RANK = new Map(GROUP_ORDER.map((group, rank) => [group, rank]))

export interface Group {
  readonly name: string
  /** The preferred version first. */
  readonly versions: readonly GroupVersion[]
}

export interface GroupVersion {
  readonly group: string
  readonly version: string
  /** Sorted by plural; none where another server serves them. */
  readonly kinds: readonly Kind[]
  readonly remote?: RemoteGroupVersion
}

/** A group version that another server serves. */
export interface RemoteGroupVersion {
  readonly group: string
  readonly version: string
  /** The higher, the earlier its group comes. */
  readonly groupPriority: number
  readonly versionPriority: number
  /** Of the aggregated form. */
  readonly resources: readonly object[]
  readonly isCurrent: boolean
}

/** What the groups of this server count as, among those of others. */
export interface LocalPriorities {
  group(name: string): number
  version(group: string, version: string): number
}

/** All groups but the core one come in the order of `/apis`; the core group, if any kind is of it, comes first. */
export function groupsOf(kinds: Iterable<Kind>): Group[] {
  const groups = new Map<string, Map<string, Kind[]>>()
  for (const kind of kinds) {
    const versions = getOrCreate(groups, kind.group, () => new Map<string, Kind[]>())
    getOrCreate(versions, kind.version, () => []).push(kind)
  }
  return [...groups]
    .sort(([a], [b]) => rankOf(a) - rankOf(b) || compareText(a, b))
    .map(([name, versions]) => ({ name, versions: orderVersions(name, versions) }))
}

function orderVersions(group: string, versions: ReadonlyMap<string, Kind[]>): GroupVersion[] {
  return [...versions]
    .sort(([a], [b]) => compareVersions(a, b))
    .map(([version, kinds]) => ({ group, version, kinds: kinds.toSorted((a, b) => compareText(a.plural, b.plural)) }))
}

const rankOf = (group: string) => (group === '' ? -1 : (RANK.get(group) ?? GROUP_ORDER.length))
export const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/
const STABILITY = { alpha: 0, beta: 1 }

/** Best first: v2, v1, v1beta2, v1beta1, v1alpha1, then names that follow no such pattern, by name. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [VERSION.exec(a), VERSION.exec(b)]
  if (x === null || y === null) return x ? -1 : y ? 1 : compareText(a, b)
  return stability(y) - stability(x) || Number(y[1]) - Number(x[1]) || Number(y[3] ?? 0) - Number(x[3] ?? 0)
}

const stability = (match: RegExpExecArray) => (match[2] === undefined ? 2 : STABILITY[match[2] as 'alpha' | 'beta'])

/** The groups with those of other servers where their priorities put them. */
export function withRemoteGroups(
  local: readonly Group[],
  remotes: readonly RemoteGroupVersion[],
  priorities: LocalPriorities,
): readonly Group[] {
  if (remotes.length === 0) return local
  const groups = local.map((group) => withRemoteVersions(group, remotes, priorities))
  const known = new Set(local.map(({ name }) => name))
  const priorityOf = ({ name, versions }: Group) =>
    Math.max(known.has(name) ? priorities.group(name) : 0, ...versions.map(({ remote }) => remote?.groupPriority ?? 0))
  const added = [...new Set(remotes.map(({ group }) => group))]
    .filter((name) => !known.has(name))
    .sort(compareText)
    .map((name) => withRemoteVersions({ name, versions: [] }, remotes, priorities))
  for (const group of added) {
    const at = groups.findIndex((one) => one.name !== '' && known.has(one.name) && priorityOf(one) < priorityOf(group))
    groups.splice(at < 0 ? groups.length : at, 0, group)
  }
  return groups
}

function withRemoteVersions(group: Group, remotes: readonly RemoteGroupVersion[], priorities: LocalPriorities): Group {
  const own = remotes.filter((remote) => remote.group === group.name)
  if (own.length === 0) return group
  const elsewhere = new Set(own.map(({ version }) => version))
  const versions: GroupVersion[] = [
    ...group.versions.filter(({ version }) => !elsewhere.has(version)),
    ...own.map((remote) => ({ group: group.name, version: remote.version, kinds: [], remote })),
  ]
  const priorityOf = ({ version, remote }: GroupVersion) =>
    remote?.versionPriority ?? priorities.version(group.name, version)
  return {
    name: group.name,
    versions: versions.sort((a, b) => priorityOf(b) - priorityOf(a) || compareVersions(a.version, b.version)),
  }
}
