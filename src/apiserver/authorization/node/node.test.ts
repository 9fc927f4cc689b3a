import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApiCall, ResourceType } from '../../../client/transport.ts'
import { type Anything, call, outcome, RESOURCES, refusal, SecureServer } from '../../security.fixture.ts'

const { pods, secrets, configMaps, nodes, serviceAccounts, leases } = RESOURCES
const type = (group: string, plural: string, namespaced: boolean): ResourceType => ({
  group,
  version: 'v1',
  plural,
  namespaced,
})
const CLAIMS = type('', 'persistentvolumeclaims', true)
const VOLUMES = type('', 'persistentvolumes', false)
const ATTACHMENTS = type('storage.k8s.io', 'volumeattachments', false)
const CSI_NODES = type('storage.k8s.io', 'csinodes', false)
const SERVICES = type('', 'services', true)

let server: SecureServer
const madePods = new Map<string, Anything>()
let own: Anything

beforeAll(async () => {
  server = await SecureServer.start()
  own = await server.create(nodes, { metadata: { name: 'n1' } })
  await server.create(nodes, { metadata: { name: 'n2' } })
  for (const name of ['mounted', 'env', 'pull', 'projected', 'of-n2', 'of-volume', 'unused'])
    await server.create(secrets, { metadata: { name } })
  for (const name of ['map', 'other-map']) await server.create(configMaps, { metadata: { name } })
  for (const name of ['robot', 'other']) await server.create(serviceAccounts, { metadata: { name } })
  await server.create(VOLUMES, volume('v1', 'data'))
  await server.create(VOLUMES, volume('v2', 'elsewhere'))
  await server.create(CLAIMS, claim('data', 'v1'))
  await server.create(CLAIMS, claim('elsewhere', 'v2'))
  for (const node of ['n1', 'n2'])
    await server.create(ATTACHMENTS, {
      metadata: { name: `a-${node}` },
      spec: { attacher: 'x', nodeName: node, source: { persistentVolumeName: 'v1' } },
    })
  await makePod('p1', {
    nodeName: 'n1',
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'pull' }],
    volumes: [
      { name: 'a', secret: { secretName: 'mounted' } },
      { name: 'b', configMap: { name: 'map' } },
      { name: 'c', projected: { sources: [{ secret: { name: 'projected' } }] } },
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
    ],
    containers: [
      { name: 'c', image: 'i', env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }] },
    ],
  })
  await makePod('p2', { nodeName: 'n2', serviceAccountName: 'other', ...secretVolume('of-n2') })
  await makePod('waiting', secretVolume('unused'))
})
afterAll(() => server[Symbol.asyncDispose]())

async function makePod(name: string, spec: object): Promise<void> {
  const body = { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } }
  madePods.set(name, await server.create(pods, body))
}
const secretVolume = (secretName: string) => ({ volumes: [{ name: 'a', secret: { secretName } }] })
const volume = (name: string, claimName: string) => ({
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    claimRef: { namespace: 'default', name: claimName },
    csi: { driver: 'x', volumeHandle: name, nodeStageSecretRef: { namespace: 'default', name: 'of-volume' } },
  },
})
const claim = (name: string, volumeName: string) => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], volumeName, resources: { requests: { storage: '1Gi' } } },
})

const kubelet = (node = 'n1') => server.as(`system:node:${node}`, 'system:nodes')
const at = (resource: ResourceType, name = ''): Pick<ApiCall, 'resource' | 'name' | 'namespace'> => ({
  resource,
  ...(name && { name }),
  ...(resource.namespaced && { namespace: 'default' }),
})
const bySelector = (resource: ResourceType, fieldSelector: string) => ({
  resource,
  query: { fieldSelector },
})

describe('a node reads', () => {
  it.each<[string, ApiCall, string]>([
    ['a secret its pod mounts', { verb: 'get', ...at(secrets, 'mounted') }, 'ok'],
    ['a secret in an environment', { verb: 'get', ...at(secrets, 'env') }, 'ok'],
    ['a secret to pull images with', { verb: 'get', ...at(secrets, 'pull') }, 'ok'],
    ['a projected secret', { verb: 'get', ...at(secrets, 'projected') }, 'ok'],
    ['a secret of a volume of its pod', { verb: 'get', ...at(secrets, 'of-volume') }, 'ok'],
    ['the secret of a pod of another node', { verb: 'get', ...at(secrets, 'of-n2') }, '403 Forbidden'],
    ['the secret of a pod of no node', { verb: 'get', ...at(secrets, 'unused') }, '403 Forbidden'],
    ['all secrets', { verb: 'list', resource: secrets }, '403 Forbidden'],
    ['all secrets of a namespace', { verb: 'list', ...at(secrets) }, '403 Forbidden'],
    ['one secret by a list', { verb: 'list', ...at(secrets), query: { fieldSelector: 'metadata.name=mounted' } }, 'ok'],
    [
      'another by a list',
      { verb: 'list', ...at(secrets), query: { fieldSelector: 'metadata.name=of-n2' } },
      '403 Forbidden',
    ],
    ['a config map of its pod', { verb: 'get', ...at(configMaps, 'map') }, 'ok'],
    ['another config map', { verb: 'get', ...at(configMaps, 'other-map') }, '403 Forbidden'],
    ['its pod', { verb: 'get', ...at(pods, 'p1') }, 'ok'],
    ['the pod of another', { verb: 'get', ...at(pods, 'p2') }, '403 Forbidden'],
    ['its pods', { verb: 'list', ...bySelector(pods, 'spec.nodeName=n1') }, 'ok'],
    ['all pods', { verb: 'list', resource: pods }, '403 Forbidden'],
    ['the pods of another', { verb: 'list', ...bySelector(pods, 'spec.nodeName=n2') }, '403 Forbidden'],
    ['all pods but one’s', { verb: 'list', ...bySelector(pods, 'spec.nodeName!=n1') }, '403 Forbidden'],
    ['its node', { verb: 'get', ...at(nodes, 'n1') }, 'ok'],
    ['another node', { verb: 'get', ...at(nodes, 'n2') }, '403 Forbidden'],
    ['all nodes', { verb: 'list', resource: nodes }, '403 Forbidden'],
    ['its claim', { verb: 'get', ...at(CLAIMS, 'data') }, 'ok'],
    ['another claim', { verb: 'get', ...at(CLAIMS, 'elsewhere') }, '403 Forbidden'],
    ['its volume', { verb: 'get', ...at(VOLUMES, 'v1') }, 'ok'],
    ['another volume', { verb: 'get', ...at(VOLUMES, 'v2') }, '403 Forbidden'],
    ['its attachment', { verb: 'get', ...at(ATTACHMENTS, 'a-n1') }, 'ok'],
    ['another attachment', { verb: 'get', ...at(ATTACHMENTS, 'a-n2') }, '403 Forbidden'],
    ['services', { verb: 'list', resource: SERVICES }, 'ok'],
    ['roles', { verb: 'list', resource: RESOURCES.clusterRoles }, '403 Forbidden'],
  ])('%s', async (_, request, expected) => {
    expect(await outcome(kubelet().call(request))).toBe(expected)
  })

  it('a secret from the moment its pod is bound until it is gone', async () => {
    await server.create(secrets, { metadata: { name: 'late' } })
    const get = () => outcome(kubelet().call({ verb: 'get', ...at(secrets, 'late') }))
    await makePod('late', secretVolume('late'))
    expect(await get()).toBe('403 Forbidden')
    const target = { apiVersion: 'v1', kind: 'Node', name: 'n1' }
    await server.admin.call({ verb: 'create', ...at(pods, 'late'), subresource: 'binding', body: { target } })
    expect(await get()).toBe('ok')
    await server.admin.call({ verb: 'delete', ...at(pods, 'late'), body: { gracePeriodSeconds: 0 } })
    expect(await get()).toBe('403 Forbidden')
  })

  it('nothing without a name of its own', async () => {
    const nameless = server.as('kubelet', 'system:nodes')
    expect(await refusal(nameless.call({ verb: 'get', ...at(nodes, 'n1') }))).toContain(
      'unknown node for user "kubelet"',
    )
  })
})

describe('a node writes', () => {
  const patch = (body: object) => ({ verb: 'patch', patchType: 'application/merge-patch+json', body }) as const
  const mirror = (change: object = {}, spec: object = {}) => ({
    metadata: {
      name: 'mirror',
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: own.metadata.uid, controller: true }],
      ...change,
    },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const token = (ref: object) => ({ body: { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', ...ref } } } })
  const lease = (name: string) => ({
    resource: leases,
    namespace: 'kube-node-lease',
    body: { metadata: { name }, spec: {} },
  })
  const uid = (name: string) => madePods.get(name)!.metadata.uid!

  it.each<[string, () => ApiCall, string]>([
    [
      'the status of its pod',
      () => ({ ...at(pods, 'p1'), subresource: 'status', ...patch({ status: { phase: 'Running' } }) }),
      'ok',
    ],
    [
      'the status of another’s pod',
      () => ({ ...at(pods, 'p2'), subresource: 'status', ...patch({ status: { phase: 'Running' } }) }),
      '403 Forbidden',
    ],
    ['its pod itself', () => ({ ...at(pods, 'p1'), ...patch({ metadata: { labels: { a: 'b' } } }) }), '403 Forbidden'],
    ['a pod', () => ({ verb: 'create', ...at(pods), body: { ...mirror(), metadata: { name: 'x' } } }), '403 Forbidden'],
    ['a mirror pod', () => ({ verb: 'create', ...at(pods), body: mirror() }), 'ok'],
    [
      'a mirror pod on another node',
      () => ({ verb: 'create', ...at(pods), body: mirror({ name: 'm2' }, { nodeName: 'n2' }) }),
      '403 Forbidden',
    ],
    [
      'a mirror pod of nobody',
      () => ({ verb: 'create', ...at(pods), body: mirror({ name: 'm3', ownerReferences: [] }) }),
      '403 Forbidden',
    ],
    [
      'a mirror pod that mounts a secret',
      () => ({ verb: 'create', ...at(pods), body: mirror({ name: 'm4' }, secretVolume('of-n2')) }),
      '403 Forbidden',
    ],
    [
      'a mirror pod with an account',
      () => ({ verb: 'create', ...at(pods), body: mirror({ name: 'm5' }, { serviceAccountName: 'other' }) }),
      '403 Forbidden',
    ],
    ['the end of another’s pod', () => ({ verb: 'delete', ...at(pods, 'p2') }), '403 Forbidden'],
    [
      'the eviction of another’s pod',
      () => ({ verb: 'create', ...at(pods, 'p2'), subresource: 'eviction', body: {} }),
      '403 Forbidden',
    ],
    [
      'its status',
      () => ({
        ...at(nodes, 'n1'),
        subresource: 'status',
        ...patch({ status: { nodeInfo: { kubeletVersion: 'v1' } } }),
      }),
      'ok',
    ],
    [
      'the status of another',
      () => ({ ...at(nodes, 'n2'), subresource: 'status', ...patch({ status: {} }) }),
      '403 Forbidden',
    ],
    ['another node', () => ({ verb: 'create', ...at(nodes), body: { metadata: { name: 'n3' } } }), '403 Forbidden'],
    [
      'a label of its own',
      () => ({ ...at(nodes, 'n1'), ...patch({ metadata: { labels: { rack: '7', 'kubernetes.io/os': 'linux' } } }) }),
      'ok',
    ],
    [
      'a label that draws pods',
      () => ({
        ...at(nodes, 'n1'),
        ...patch({ metadata: { labels: { 'node-restriction.kubernetes.io/safe': 'yes' } } }),
      }),
      '403 Forbidden',
    ],
    [
      'a role',
      () => ({
        ...at(nodes, 'n1'),
        ...patch({ metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }),
      }),
      '403 Forbidden',
    ],
    ['its taints', () => ({ ...at(nodes, 'n1'), ...patch({ spec: { taints: [] } }) }), '403 Forbidden'],
    ['its own end', () => ({ verb: 'delete', ...at(nodes, 'n1') }), '403 Forbidden'],
    ['its lease', () => ({ verb: 'create', ...lease('n1') }), 'ok'],
    ['the lease of another', () => ({ verb: 'create', ...lease('n2') }), '403 Forbidden'],
    ['a lease elsewhere', () => ({ verb: 'create', ...lease('n1'), namespace: 'default' }), '403 Forbidden'],
    [
      'the CSINode of another',
      () => ({ verb: 'create', resource: CSI_NODES, body: { metadata: { name: 'n2' }, spec: { drivers: [] } } }),
      '403 Forbidden',
    ],
    [
      'a token for its pod',
      () => ({
        verb: 'create',
        ...at(serviceAccounts, 'robot'),
        subresource: 'token',
        ...token({ name: 'p1', uid: uid('p1') }),
      }),
      'ok',
    ],
    [
      'a token for no pod',
      () => ({ verb: 'create', ...at(serviceAccounts, 'robot'), subresource: 'token', body: { spec: {} } }),
      '403 Forbidden',
    ],
    [
      'a token without the uid',
      () => ({ verb: 'create', ...at(serviceAccounts, 'robot'), subresource: 'token', ...token({ name: 'p1' }) }),
      '403 Forbidden',
    ],
    [
      'a token for another’s pod',
      () => ({
        verb: 'create',
        ...at(serviceAccounts, 'robot'),
        subresource: 'token',
        ...token({ name: 'p2', uid: uid('p2') }),
      }),
      '403 Forbidden',
    ],
    [
      'a token of another account',
      () => ({
        verb: 'create',
        ...at(serviceAccounts, 'other'),
        subresource: 'token',
        ...token({ name: 'p2', uid: uid('p2') }),
      }),
      '403 Forbidden',
    ],
  ])('%s', async (_, request, expected) => {
    expect(await outcome(call(kubelet(), request()))).toBe(expected)
  })

  it('no labels of its pod by the status', async () => {
    await call(kubelet(), { ...at(pods, 'p1'), subresource: 'status', ...patch({ metadata: { labels: { a: 'b' } } }) })
    expect((await call(server.admin, { verb: 'get', ...at(pods, 'p1') })).metadata.labels).toBeUndefined()
  })
})
