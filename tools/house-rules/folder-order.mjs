/**
 * The folders of each room, from the bottom up: a folder imports only folders that stand before it, so a room has no cycles
 * and reads down this list. `*` stands for all other folders, which do not import each other. Top-level files are the room's
 * public face and may import every folder of it.
 */
export const FOLDER_ORDER = {
  api: ['generated', 'meta', 'schema', 'kinds', 'protobuf'],
  apiserver: [
    'watch-cache',
    'webhook-client',
    'authorization',
    'objects',
    'http',
    'request',
    'authentication',
    'admission',
    'discovery',
    'proxy',
    'aggregation',
    'audit',
    'flow-control',
    'registry',
    'bootstrap',
    'crd',
    'encryption',
    'metrics-api',
    'handlers',
    'stages',
  ],
  base: ['spdy'],
  cel: ['cost', 'functions'],
  cli: ['printing', 'resources', 'commands'],
  client: ['streaming', 'cache', 'event', 'http', 'fake'],
  cluster: ['node', 'credentials', 'processes', 'local-nodes', 'control-plane', 'join', 'resolve', 'server'],
  'cluster-dns': ['corefile', 'wire', 'server', 'plugins'],
  'container-runtime': ['*'],
  controllers: [
    'pod-control',
    'controller-revision',
    'certificate-signing',
    'endpointslice',
    'job',
    'taint-eviction',
    'endpoints',
    'certificate-approval',
    'replicaset',
    '*',
  ],
  kubelet: [
    'environment',
    'node',
    'pod',
    'volumes',
    'handlers',
    'hooks',
    'status',
    'probes',
    'images',
    'logs',
    'pod-worker',
    'stats',
    'eviction',
    'housekeeping',
    'server',
    'simulated',
  ],
  linux: ['agent', 'ffi', 'namespaces', 'netlink', 'cgroups', 'seccomp', 'sysctl', '*'],
  'pod-network': ['rules', 'ipam', 'sandboxes', 'peers', 'bridge', 'cni', 'host-gateway', 'vxlan', 'node'],
  rootless: ['egress'],
  scheduler: ['cache', 'plugins', 'framework', 'queue', 'feed', 'preemption', 'loop'],
  'service-proxy': ['table', 'nftables', 'iptables', 'userspace', 'proxy'],
  store: ['contract', '*'],
}

/** src/apiserver/http/listener.ts -> ['apiserver', 'http']; undefined for a room's top-level files. */
function folderOf(file) {
  const parts = file.split('/')
  return parts[0] === 'src' && parts.length > 3 ? [parts[1], parts[2]] : undefined
}

/** What is wrong with `from` importing `to`, both paths from the root; undefined if nothing is. */
export function folderProblem(from, to) {
  const source = folderOf(from)
  const target = folderOf(to)
  if (!source || !target || source[0] !== target[0] || source[1] === target[1]) return undefined
  const [room, folder] = source
  const order = FOLDER_ORDER[room] ?? []
  const positionOf = (name) => (order.includes(name) ? order.indexOf(name) : order.indexOf('*'))
  for (const name of [folder, target[1]])
    if (positionOf(name) < 0)
      return `src/${room}/${name} is not in the list of tools/house-rules/folder-order.mjs: add it where it belongs`
  if (positionOf(target[1]) < positionOf(folder)) return undefined
  return `src/${room}/${folder} stands before ${target[1]} in tools/house-rules/folder-order.mjs and may not import it: move what both need down`
}
