import type { Random } from '../../src/base/random.ts'
import { RESOURCE_CASES } from '../e2e/api-behaviour/kinds.ts'
import type { Json } from '../tools/json.ts'
import type { Operation } from './document.ts'
import { Values } from './values.ts'

export interface FuzzRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  /** Give the connection up after this many bytes of the body. */
  abortAfter: number | undefined
}

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
const BODY_TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'application/yaml',
  'application/json; charset=utf-8',
  'text/plain',
  'application/vnd.kubernetes.protobuf',
  '',
  'nonsense',
]
const ACCEPTS = [
  'application/json',
  'application/json',
  '*/*',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=Nothing;v=v9;g=x',
  'application/yaml',
  'text/html',
  '',
  ';;;',
  'application/vnd.kubernetes.protobuf',
]
const NAMES = [
  'a',
  'web',
  'default',
  'kubernetes',
  'kube-system',
  '10.96.0.1',
  '..',
  '%2e%2e%2f',
  'a%2Fb',
  '__proto__',
  'constructor',
  '%00',
  '%',
  'A_B',
  '%E6%97%A5',
  'x'.repeat(600),
  '*',
  '-',
  ' ',
]
const QUERY_VALUES: Readonly<Record<string, readonly string[]>> = {
  labelSelector: ['a=b', 'a in (b,c)', '!a', 'a>1', 'a==', '((', 'a in', ',,,', 'x'.repeat(300), 'a=b=c'],
  fieldSelector: [
    'metadata.name=a',
    'metadata.namespace=default',
    'spec.nodeName=',
    'status.phase=Running',
    'a',
    '=',
    'x.y=z',
    '\\',
    ',,',
  ],
  continue: ['abc', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0', '{}', '%00', 'e30', 'x'.repeat(3000)],
  limit: ['0', '1', '5', '-1', '99999999999999999999', 'x', '1.5'],
  resourceVersion: ['0', '1', '5', '-1', 'x', '99999999', '1.5', ''],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'Never', ''],
  fieldValidation: ['Strict', 'Warn', 'Ignore', 'Loose', ''],
  dryRun: ['All', 'Some', '', 'All,All'],
  force: ['true', 'false', 'x', ''],
  fieldManager: ['fuzz', '', 'x'.repeat(300), '\u0007'],
  propagationPolicy: ['Background', 'Foreground', 'Orphan', 'Nowhere'],
  gracePeriodSeconds: ['0', '-1', 'x', '30'],
  orphanDependents: ['true', 'x'],
  sendInitialEvents: ['true', 'false', 'x'],
  allowWatchBookmarks: ['true', 'x'],
  pretty: ['true', 'x'],
}

/** One request somewhere between what a client would send and what nobody should. */
export function fuzzRequest(random: Random, operations: readonly Operation[]): FuzzRequest {
  const wildness = random.next() < 0.3 ? 0 : random.next() * 0.15
  const values = new Values(random, {}, wildness)
  const operation = values.pick(operations)
  const method = values.chance(0.02)
    ? values.pick(['HEAD', 'OPTIONS', 'BREW', 'TRACE', 'PUT', 'POST', 'DELETE'])
    : operation.method
  const path = pathOf(values, operation) + queryOf(values, operation)
  const sendsBody =
    ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) && values.chance(method === 'DELETE' ? 0.3 : 0.98)
  const usual = method === 'PATCH' ? values.pick(PATCH_TYPES) : 'application/json'
  const type = values.chance(0.1) ? values.pick(BODY_TYPES) : usual
  const body = sendsBody ? bodyOf(new Values(random, operation.schemas, wildness), operation, type) : undefined
  return {
    method,
    path,
    headers: {
      accept: values.chance(0.15) ? values.pick(ACCEPTS) : 'application/json',
      ...(sendsBody && type && { 'content-type': type }),
    },
    body,
    abortAfter: body && values.chance(0.01) ? Math.floor(body.length / 2) : undefined,
  }
}

function pathOf(values: Values, operation: Operation): string {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_whole, name) => {
    if (name === 'namespace') return values.chance(0.95) ? 'default' : encodeRaw(values.pick(NAMES))
    return values.chance(0.7) ? values.pick(['a', 'web']) : encodeRaw(values.pick(NAMES))
  })
  if (!values.chance(0.02)) return filled
  return values.pick([
    `${filled}/`,
    `/${filled}`,
    `${filled}/../..`,
    `${filled}/status/status`,
    filled.slice(0, -3),
    filled.toUpperCase(),
    `${filled}//x`,
  ])
}

/** Leaves what is escaped already, so that odd escapes arrive as they are. */
const encodeRaw = (text: string) => text.replace(/ /g, '%20')

function queryOf(values: Values, operation: Operation): string {
  const pairs: string[] = []
  for (const name of operation.parameters) {
    if (name === 'watch' || name === 'timeoutSeconds' || name === 'follow') continue
    if (values.chance(0.12))
      pairs.push(`${name}=${encodeURIComponent(values.pick(QUERY_VALUES[name] ?? ['x', '', '1']))}`)
  }
  if (values.chance(0.03) && operation.method === 'GET') pairs.push('watch=1')
  if (values.chance(0.02)) pairs.push(values.pick(['%', 'a[b]=c', '__proto__[x]=y', '=&=', 'limit=1&limit=2']))
  // Whatever turns out to be a watch ends by itself.
  if (operation.method === 'GET') pairs.push('timeoutSeconds=1')
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

function bodyOf(values: Values, operation: Operation, type: string): string | Buffer {
  if (values.chance(0.03)) return values.pick(BROKEN_BODIES)
  if (type === 'application/json-patch+json') return JSON.stringify(jsonPatch(values))
  const seed = SEEDS.get(operation.path.replace('/namespaces/{namespace}', '').replace('/{name}', ''))
  const value = seed && values.chance(0.4) ? mutated(values, seed) : values.of(operation.body)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) nameIt(values, value as Json, operation)
  const text = JSON.stringify(value) ?? ''
  return values.chance(0.02) ? text.slice(0, Math.floor(text.length / 2)) : text
}

/** Objects the server must take, by the path of their resource: what is one step from right comes furthest. */
const SEEDS: ReadonlyMap<string, Json> = new Map<string, Json>(
  RESOURCE_CASES.map((entry) => {
    const prefix = entry.group === '' ? '/api' : `/apis/${entry.group}`
    return [`${prefix}/${entry.version}/${entry.plural}`, entry.body(1)] as const
  }),
)

/** A copy, most often with one or two places changed. */
function mutated(values: Values, seed: Json): Json {
  const copy = structuredClone(seed)
  for (let i = values.pick([0, 1, 1, 2]); i > 0; i--) {
    let place: Json = copy
    for (let depth = 0; depth < 8; depth++) {
      const key = values.pick(Object.keys(place))
      const inner = place[key]
      const deeper = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      if (deeper && values.chance(0.8)) place = inner as Json
      else if (key !== undefined) {
        if (values.chance(0.2)) delete place[key]
        else
          place[key] = values.of({ type: values.pick(['string', 'object', 'array', 'integer', 'boolean', 'string']) })
        break
      }
    }
  }
  return copy
}

/** Most bodies get a name that fits the path, so that they come further than the first check. */
function nameIt(values: Values, body: Json, operation: Operation): void {
  if (!values.chance(0.9)) return
  const metadata = typeof body.metadata === 'object' && body.metadata !== null ? (body.metadata as Json) : {}
  for (const field of [
    'resourceVersion',
    'uid',
    'deletionTimestamp',
    'managedFields',
    'ownerReferences',
    'selfLink',
    'generateName',
  ]) {
    if (values.chance(0.9)) delete metadata[field]
  }
  body.metadata = {
    ...metadata,
    name: values.pick(['a', 'web']),
    ...(operation.path.includes('{namespace}') ? { namespace: 'default' } : {}),
  }
  if (values.chance(0.5)) delete (body.metadata as Json).namespace
  const [, group, version] = operation.path.match(/^\/apis\/([^/]+)\/([^/]+)/) ?? ['', '', 'v1']
  if (values.chance(0.9)) body.apiVersion = group ? `${group}/${version}` : version
  if (values.chance(0.9)) delete body.kind
}

function jsonPatch(values: Values): unknown {
  const operations = ['add', 'remove', 'replace', 'test', 'move', 'copy', 'explode']
  const pointers = [
    '/metadata/labels',
    '/metadata/labels/a',
    '/metadata/annotations/x~1y',
    '/spec',
    '/spec/replicas',
    '/spec/template/spec/containers/0',
    '/spec/template/spec/containers/-',
    '/data/a',
    '',
    '/',
    '/__proto__/x',
    '/constructor/prototype/x',
    '/metadata/name',
    '/a/99999999999',
    'nope',
    '/status',
  ]
  return Array.from({ length: values.pick([0, 1, 1, 2, 3]) }, () => ({
    op: values.pick(operations),
    path: values.pick(pointers),
    ...(values.chance(0.3) && { from: values.pick(pointers) }),
    ...(values.chance(0.8) && { value: values.of({ type: values.pick(['string', 'object', 'array', 'integer']) }) }),
  }))
}

const nested = (open: string, close: string, levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`

const BROKEN_BODIES: readonly (string | Buffer)[] = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '{"a":1,"a":2}',
  '{"metadata":{"name":"a","name":"b"}}',
  '{"__proto__":{"polluted":true},"metadata":{"__proto__":{"polluted":true}}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  nested('{"a":', '}', 5_000),
  nested('[', ']', 50_000),
  JSON.stringify({ metadata: { name: 'a' }, data: { a: 'x'.repeat(200_000) } }),
  JSON.stringify({
    metadata: { name: 'a' },
    data: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'v'])),
  }),
  Buffer.from([0xff, 0xfe, 0x00, 0x7b]),
  Buffer.from([0x7b, 0x22, 0x61, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  'a: &a [*a]',
  'a: !!js/function "x"',
  '--- 1\n--- 2',
  '\ufeff{}',
  '{"metadata":{"name":"\\ud800"}}',
]
