import { builtinKinds } from '../../src/api/kinds/all.ts'
import type { JsonObject, KubernetesObject } from '../../src/api/meta/object.ts'
import type { Client } from '../../src/client/client.ts'

/** Not compared: reports, heartbeats, and what only says where a pod happened to be put. */
const IGNORED = new Set(['events', 'leases', 'componentstatuses', 'nodes', 'csinodes', 'ipaddresses'])

/** Differ between two runs that did the same: identities, times, and how many steps it took. */
const IGNORED_FIELDS = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'observedGeneration',
  'managedFields',
  'nodeName',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'containerID',
  'clusterIP',
  'clusterIPs',
  'volumeName',
  'claimRef',
  'hostPath',
  'nodeAffinity',
  'addresses',
  'targetRef',
  'collisionCount',
  'volume.kubernetes.io/selected-node',
])
const TIME = /^\d{4}-\d{2}-\d{2}T/

/** Everything there is, without what may differ: two clusters that came to the same have equal lists. */
export async function endState(client: Client): Promise<string[]> {
  const lines: string[] = []
  for (const kind of builtinKinds) {
    if (IGNORED.has(kind.plural) || !kind.verbs.includes('list') || kind.conversion) continue
    const { items } = await client.resource(kind).list()
    for (const item of items) lines.push(`${kind.kind} ${describe(item)}`)
  }
  return lines.sort()
}

function describe(object: KubernetesObject): string {
  const { name = '', namespace = '', generateName } = object.metadata
  return `${namespace}/${generateName ? `${generateName}*` : stable(name)} ${JSON.stringify(normal(object))}`
}

/** Names of volumes have the uid of their claim in them, or something drawn by lot. */
const stable = (text: string) =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
    .replace(/^kube-api-access-\w{5}$/, 'kube-api-access-*')

/** What only one of two lists has. */
export function difference(actual: readonly string[], expected: readonly string[]) {
  const left = new Map<string, number>()
  for (const line of actual) left.set(line, (left.get(line) ?? 0) + 1)
  const missing = expected.filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
  return { missing, extra: [...left].filter(([, count]) => count > 0).map(([line]) => line) }
}

function normal(value: unknown): unknown {
  if (typeof value === 'string') return TIME.test(value) ? '<time>' : stable(value)
  if (Array.isArray(value)) return value.map(normal).sort(byText)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value as JsonObject).filter(([field]) => !IGNORED_FIELDS.has(field))
  const isGenerated = fields.some(([field]) => field === 'generateName')
  return Object.fromEntries(
    fields
      .filter(([field]) => !(isGenerated && field === 'name'))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, one]) => [field, normal(one)]),
  )
}

const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
