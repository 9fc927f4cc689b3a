/** What a node gets with its own certificate, and what it does not: NodeRestriction and the node authorizer together. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AskedCluster, type Request } from './asking.ts'

let cluster: AskedCluster
const NODE_A = 'system:node:node-a'
const podOf = (name: string, more: object) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
})

beforeAll(async () => {
  cluster = await AskedCluster.start()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'own' } })
  for (const name of ['node-a', 'node-b']) await cluster.make('/api/v1/nodes', { metadata: { name } })
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

describe('a node', () => {
  const secretVolume = { volumes: [{ name: 'v', secret: { secretName: 's' } }] }
  let nodeUid = ''
  beforeAll(async () => {
    const made = await cluster.must({ ask: 'GET /api/v1/nodes/node-a' })
    nodeUid = (made.metadata as { uid: string }).uid
    await cluster.make('/api/v1/namespaces/own/pods', podOf('elsewhere', { nodeName: 'node-b', ...secretVolume }))
    await cluster.make('/api/v1/namespaces/own/pods', podOf('here', { nodeName: 'node-a' }))
    await cluster.make('/api/v1/namespaces/own/secrets', { metadata: { name: 's' } })
    await cluster.make('/api/v1/namespaces/own/configmaps', { metadata: { name: 'c' } })
  })
  const owner = () => ({ apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: nodeUid, controller: true })
  const mirror = (more: object = {}, spec: object = {}) => ({
    metadata: { name: 'm', annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner()], ...more },
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const PODS = '/api/v1/namespaces/own/pods'
  const NODES = '/api/v1/nodes'
  const SLICES = '/apis/resource.k8s.io/v1/resourceslices'
  const slice = (nodeName: string) => ({
    metadata: { name: 'r' },
    spec: { nodeName, driver: 'd.example.org', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
  })
  test.each<[what: string, request: () => Request]>([
    [
      'a label that draws pods',
      () => ({
        ask: `PATCH ${NODES}/node-a`,
        body: { metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } } },
      }),
    ],
    [
      'a label of kubernetes.io',
      () => ({ ask: `PATCH ${NODES}/node-a`, body: { metadata: { labels: { 'x.kubernetes.io/a': 'b' } } } }),
    ],
    [
      'a label by its status',
      () => ({
        ask: `PATCH ${NODES}/node-a/status`,
        body: { metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } } },
      }),
    ],
    [
      'other taints',
      () => ({ ask: `PATCH ${NODES}/node-a`, body: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } } }),
    ],
    ['an owner', () => ({ ask: `PATCH ${NODES}/node-a`, body: { metadata: { ownerReferences: [owner()] } } })],
    ['another node', () => ({ ask: `PATCH ${NODES}/node-b`, body: { metadata: { labels: { a: 'b' } } } })],
    [
      'the status of another node',
      () => ({ ask: `PATCH ${NODES}/node-b/status`, body: { status: { addresses: [] } } }),
    ],
    ['another node, deleted', () => ({ ask: `DELETE ${NODES}/node-b` })],
    ['a new node of another name', () => ({ ask: `POST ${NODES}`, body: { metadata: { name: 'node-c' } } })],
    ['a pod', () => ({ ask: `POST ${PODS}`, body: podOf('x', { nodeName: 'node-a' }) })],
    ['a mirror on another node', () => ({ ask: `POST ${PODS}`, body: mirror({}, { nodeName: 'node-b' }) })],
    ['a mirror without an owner', () => ({ ask: `POST ${PODS}`, body: mirror({ ownerReferences: [] }) })],
    [
      'a mirror that holds up its node',
      () => ({ ask: `POST ${PODS}`, body: mirror({ ownerReferences: [{ ...owner(), blockOwnerDeletion: true }] }) }),
    ],
    [
      'a mirror of another node',
      () => ({ ask: `POST ${PODS}`, body: mirror({ ownerReferences: [{ ...owner(), uid: 'other' }] }) }),
    ],
    ['a mirror with a secret', () => ({ ask: `POST ${PODS}`, body: mirror({}, secretVolume) })],
    ['a mirror with an account', () => ({ ask: `POST ${PODS}`, body: mirror({}, { serviceAccountName: 'default' }) })],
    [
      'the status of a pod elsewhere',
      () => ({ ask: `PATCH ${PODS}/elsewhere/status`, body: { status: { phase: 'Failed' } } }),
    ],
    ['the spec of its own pod', () => ({ ask: `PATCH ${PODS}/here`, body: { spec: { activeDeadlineSeconds: 1 } } })],
    [
      'a debug container in its own pod',
      () => ({
        ask: `PATCH ${PODS}/here/ephemeralcontainers`,
        body: { spec: { ephemeralContainers: [{ name: 'x', image: 'i' }] } },
      }),
    ],
    ['the deletion of a pod elsewhere', () => ({ ask: `DELETE ${PODS}/elsewhere` })],
    [
      'the eviction of a pod elsewhere',
      () => ({ ask: `POST ${PODS}/elsewhere/eviction`, body: { metadata: { name: 'elsewhere' } } }),
    ],
    ['all pods', () => ({ ask: 'GET /api/v1/pods' })],
    ['pods of another node', () => ({ ask: 'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-b' })],
    ['a secret of a pod elsewhere', () => ({ ask: 'GET /api/v1/namespaces/own/secrets/s' })],
    ['a config map of no pod', () => ({ ask: 'GET /api/v1/namespaces/own/configmaps/c' })],
    ['a secret by watching all', () => ({ ask: 'GET /api/v1/namespaces/own/secrets?watch=true' })],
    [
      'a token that is bound to no pod',
      () => ({ ask: 'POST /api/v1/namespaces/own/serviceaccounts/default/token', body: { spec: {} } }),
    ],
    [
      'a token for a pod elsewhere',
      () => ({
        ask: 'POST /api/v1/namespaces/own/serviceaccounts/default/token',
        body: { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'elsewhere', uid: 'x' } } },
      }),
    ],
    [
      'a lease in another namespace',
      () => ({
        ask: 'POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
        body: { metadata: { name: 'node-a' } },
      }),
    ],
    [
      'the CSINode of another',
      () => ({
        ask: 'POST /apis/storage.k8s.io/v1/csinodes',
        body: { metadata: { name: 'node-b' }, spec: { drivers: [] } },
      }),
    ],
    ['a ResourceSlice of another', () => ({ ask: `POST ${SLICES}`, body: slice('node-b') })],
    ['all ResourceSlices', () => ({ ask: `GET ${SLICES}` })],
    [
      'a role',
      () => ({ ask: 'POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings', body: { metadata: { name: 'x' } } }),
    ],
  ])('does not get %s', async (_, request) => {
    const { code, text } = await cluster.send(NODE_A, request())
    expect(`${code} ${text}`).toMatch(/^403 /)
  })

  test('does not change the labels of its pods by their status', async () => {
    await cluster.send(NODE_A, { ask: `PATCH ${PODS}/here/status`, body: { metadata: { labels: { app: 'bank' } } } })
    expect((await cluster.send('admin', { ask: `GET ${PODS}/here` })).text).not.toContain('bank')
  })

  test('gets what is its own', async () => {
    const own: Request[] = [
      { ask: `PATCH ${NODES}/node-a/status`, body: { status: { addresses: [] } } },
      { ask: `PATCH ${NODES}/node-a`, body: { metadata: { labels: { 'example.org/a': 'b' } } } },
      { ask: `PATCH ${PODS}/here/status`, body: { status: { phase: 'Running' } } },
      { ask: 'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a' },
      { ask: `POST ${SLICES}?dryRun=All`, body: slice('node-a') },
    ]
    for (const request of own) expect((await cluster.send(NODE_A, request)).code, request.ask).toBeLessThan(300)
  })
})
