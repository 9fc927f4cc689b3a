/**
 * The import rule as a table: which rooms of src/ a room may import, besides itself. Components never import each
 * other; they meet only through API objects. A component that is not listed gets COMPONENT.
 */
const COMPONENT = ['base', 'api', 'client']

export const MAY_IMPORT = {
  base: [],
  protobuf: ['base'],
  http2: ['base'],
  api: ['base', 'protobuf'],
  cel: ['base', 'api'],
  patch: ['base', 'api'],
  openapi: ['base', 'api', 'protobuf'],
  client: ['base', 'api'],
  store: ['base', 'protobuf'],
  linux: ['base'],
  x509: ['base'],
  rootless: ['base', 'linux'],
  apiserver: [...COMPONENT, 'store', 'protobuf', 'http2', 'cel', 'patch', 'openapi', 'x509'],
  controllers: [...COMPONENT, 'x509'],
  scheduler: COMPONENT,
  kubelet: [...COMPONENT, 'linux', 'container-runtime'],
  'container-runtime': [...COMPONENT, 'linux', 'protobuf'],
  'pod-network': [...COMPONENT, 'linux'],
  'service-proxy': [...COMPONENT, 'linux'],
  'cluster-dns': [...COMPONENT, 'linux'],
  dashboard: COMPONENT,
  doctor: COMPONENT,
  cluster: 'all',
  testing: 'all',
  cli: 'all',
  bin: 'all',
}

/** Rooms whose subfolders are as public as their top-level files. */
const OPEN_ROOMS = new Set(['api'])

/** src/apiserver/http/router.ts -> { room: 'apiserver', depth: 2 } (folders below src/). */
function placeOf(file) {
  const parts = file.split('/')
  return { room: parts[1], depth: parts.length - 2 }
}

/** What is wrong with `from` importing `to` (both paths from the root, both in src/), or undefined. */
export function importProblem(from, to, isTest = false) {
  const source = placeOf(from)
  const target = placeOf(to)
  if (source.room === target.room) return undefined
  const allowed = MAY_IMPORT[source.room]
  if (!allowed) return `src/${source.room} is not in the table of tools/house-rules/import-rule.mjs: add it there`
  if (allowed !== 'all' && !allowed.includes(target.room) && !isTest) {
    const list = allowed.length > 0 ? allowed.join(', ') : 'nothing else'
    return `src/${source.room} may import ${list}, not src/${target.room}: declare a small interface and let src/cluster pass the implementation`
  }
  if (target.depth > 1 && !OPEN_ROOMS.has(target.room)) {
    return `${to} is private to src/${target.room}: import one of its top-level files`
  }
  return undefined
}
