import type { KubernetesObject } from '../../api/meta/object.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'

/** Annotations that only repeat the object. */
const HIDDEN_ANNOTATIONS = new Set<string>([ANNOTATION.lastApplied])

/** Fields whose keys are the user's own words. */
const MAPS = new Set(['data', 'binaryData', 'stringData', 'matchLabels', 'nodeSelector', 'selector', 'labels'])

/** An object of any kind for people: fields as words, nothing empty, secrets by their size. */
export function describeObject(object: KubernetesObject): string[] {
  const { name, namespace, labels, annotations, managedFields: _bookkeeping, ...metadata } = object.metadata
  const { apiVersion, kind, metadata: _, ...rest } = object as KubernetesObject & Record<string, unknown>
  const head: Record<string, unknown> = {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: pairs(labels),
    annotations: pairs(annotations),
    'API version': apiVersion,
    kind,
    metadata,
  }
  return [...fields(head, 0), ...fields(kind === 'Secret' ? sealed(rest) : rest, 0)]
}

function pairs(map: Record<string, string> | undefined): string | string[] {
  const entries = Object.entries(map ?? {}).filter(([key]) => !HIDDEN_ANNOTATIONS.has(key))
  return entries.length === 0 ? '<none>' : entries.map(([key, value]) => `${key}=${value}`)
}

function sealed(secret: Record<string, unknown>): Record<string, unknown> {
  const data = (secret.data ?? {}) as Record<string, string>
  const sizes = Object.entries(data).map(([key, value]) => [key, `${Buffer.from(value, 'base64').length} bytes`])
  return { ...secret, data: Object.fromEntries(sizes) }
}

function fields(object: Record<string, unknown>, depth: number, title = words): string[] {
  const shown = Object.entries(object).filter(([, value]) => !isEmpty(value))
  const width = Math.max(0, ...shown.filter(([, value]) => !isNested(value)).map(([key]) => title(key).length))
  return shown.flatMap(([key, value]) => field(title(key), value, depth, width, MAPS.has(key) ? verbatim : words))
}

function field(title: string, value: unknown, depth: number, width: number, below: typeof words): string[] {
  const indent = '  '.repeat(depth)
  if (!isNested(value)) return scalar(`${indent}${`${title}:`.padEnd(width + 3)}`, value)
  if (!Array.isArray(value))
    return [`${indent}${title}:`, ...fields(value as Record<string, unknown>, depth + 1, below)]
  return [`${indent}${title}:`, ...value.flatMap((item) => listItem(item, depth + 1))]
}

function listItem(item: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (!isNested(item) || Array.isArray(item)) return scalar(`${indent}- `, isNested(item) ? JSON.stringify(item) : item)
  const [first = '', ...rest] = fields(item as Record<string, unknown>, depth + 1)
  return [`${indent}- ${first.trimStart()}`, ...rest]
}

/** Text of several lines keeps them, below its title. */
function scalar(start: string, value: unknown): string[] {
  const text = String(value)
  if (!text.includes('\n')) return [`${start}${text}`]
  const indent = `${' '.repeat(start.length - start.trimStart().length)}  `
  return [
    start.trimEnd(),
    ...text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => indent + line),
  ]
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null
const isEmpty = (value: unknown) =>
  value === undefined || value === null || (isNested(value) && Object.keys(value).length === 0)

const verbatim = (key: string) => key

/** `clusterIP` -> `Cluster IP`; keys that cannot be field names stay as they are. */
function words(key: string): string {
  if (!/^[a-z][a-zA-Z0-9]*$/.test(key)) return key
  const spaced = key.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  return spaced[0]!.toUpperCase() + spaced.slice(1)
}
