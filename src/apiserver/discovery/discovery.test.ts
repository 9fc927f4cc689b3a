import { describe, expect, it } from 'vitest'
import { defineKind, type Kind } from '../../api/kind.ts'
import { Discovery } from './discovery.ts'
import { compareVersions } from './group-order.ts'
import { negotiateDiscovery } from './negotiate.ts'
import { storageVersionHash } from './resources.ts'

const part = { type: 'part', verbs: ['get', 'update', 'patch'], prepareUpdate: () => {} } as const
const scale = {
  type: 'scale',
  replicas: () => 0,
  setReplicas: () => {},
  statusReplicas: () => 0,
  selector: () => '',
} as const
const kind = (group: string, version: string, name: string, more: Partial<Kind> = {}) =>
  defineKind({ group, version, kind: name, plural: `${name.toLowerCase()}s`, schema: {}, ...more })

const kinds: Kind[] = [
  kind('example.com', 'v1beta1', 'Widget'),
  kind('example.com', 'v1', 'Widget', {
    conversion: {
      storage: { group: 'example.com', version: 'v1beta1', plural: 'widgets' },
      toStorage() {},
      fromStorage() {},
    },
  }),
  kind('autoscaling', 'v1', 'HorizontalPodAutoscaler'),
  kind('autoscaling', 'v2', 'HorizontalPodAutoscaler'),
  kind('apps', 'v1', 'Deployment', {
    shortNames: ['deploy'],
    categories: ['all'],
    subresources: { status: part, scale },
  }),
  kind('', 'v1', 'PodTemplate'),
  kind('', 'v1', 'Pod', {
    shortNames: ['po'],
    categories: ['all'],
    subresources: {
      status: part,
      eviction: { type: 'action', verbs: ['create'], group: 'policy', version: 'v1', kind: 'Eviction' },
      binding: { type: 'action', verbs: ['create'], group: '', version: 'v1', kind: 'Binding' },
      exec: { type: 'action', verbs: ['get', 'create'], group: '', version: 'v1', kind: 'PodExecOptions' },
    },
  }),
  kind('', 'v1', 'Node', { namespaced: false }),
  kind('authorization.k8s.io', 'v1', 'SubjectAccessReview', { verbs: ['create'], namespaced: false }),
  kind('apiregistration.k8s.io', 'v1', 'APIService', { namespaced: false }),
]
const discovery = () => new Discovery(() => kinds, '10.0.0.1:6443')
const read = (document: { body: Buffer } | undefined) => JSON.parse(String(document?.body))

describe('plain discovery', () => {
  it('/api', () => {
    expect(read(discovery().legacy('plain'))).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:6443' }],
    })
  })

  it('/apis has the groups in upstream order, the preferred version first', () => {
    const { groups } = read(discovery().groups('plain'))
    expect(groups.map((group: { name: string }) => group.name)).toEqual([
      'apiregistration.k8s.io',
      'apps',
      'authorization.k8s.io',
      'autoscaling',
      'example.com',
    ])
    expect(groups[3]).toEqual({
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    })
  })

  it('/apis/G', () => {
    expect(read(discovery().group('apps'))).toMatchObject({ kind: 'APIGroup', apiVersion: 'v1', name: 'apps' })
    expect(discovery().group('')).toBeUndefined()
    expect(discovery().group('nothing.example')).toBeUndefined()
  })

  it('/api/v1 lists resources and subresources by name', () => {
    const list = read(discovery().resources('', 'v1'))
    expect(list).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' })
    expect(list).not.toHaveProperty('apiVersion')
    expect(list.resources.map((one: { name: string }) => one.name)).toEqual([
      'nodes',
      'pods',
      'pods/binding',
      'pods/eviction',
      'pods/exec',
      'pods/status',
      'podtemplates',
    ])
    expect(list.resources[1]).toEqual({
      name: 'pods',
      singularName: 'pod',
      namespaced: true,
      kind: 'Pod',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['po'],
      categories: ['all'],
      storageVersionHash: 'xPOwRZ+Yhw8=',
    })
    expect(list.resources.slice(2, 6)).toEqual([
      { name: 'pods/binding', singularName: '', namespaced: true, kind: 'Binding', verbs: ['create'] },
      {
        name: 'pods/eviction',
        singularName: '',
        namespaced: true,
        group: 'policy',
        version: 'v1',
        kind: 'Eviction',
        verbs: ['create'],
      },
      { name: 'pods/exec', singularName: '', namespaced: true, kind: 'PodExecOptions', verbs: ['create', 'get'] },
      { name: 'pods/status', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get', 'patch', 'update'] },
    ])
  })

  it('/apis/G/V', () => {
    const { resources } = read(discovery().resources('apps', 'v1'))
    expect(resources[1]).toEqual({
      name: 'deployments/scale',
      singularName: '',
      namespaced: true,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: ['get', 'patch', 'update'],
    })
    expect(discovery().resources('apps', 'v9')).toBeUndefined()
  })

  it('hashes the version that is stored, and nothing for what is not', () => {
    const hashes = (group: string, version: string) =>
      read(discovery().resources(group, version)).resources[0].storageVersionHash
    expect(hashes('example.com', 'v1')).toBe(
      storageVersionHash({ group: 'example.com', version: 'v1beta1', kind: 'Widget' }),
    )
    expect(hashes('authorization.k8s.io', 'v1')).toBeUndefined()
    expect(storageVersionHash({ group: 'apps', version: 'v1', kind: 'Deployment' })).toBe('8aSe+NMegvE=')
  })
})

describe('aggregated discovery', () => {
  it.each(['v2', 'v2beta1'] as const)('%s', (form) => {
    const document = discovery().groups(form)
    expect(document.contentType).toBe(`application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`)
    const list = read(document)
    expect(list).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${form}` })
    expect(list.items[1]).toMatchObject({
      metadata: { name: 'apps' },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'deployments',
              responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
              scope: 'Namespaced',
              singularResource: 'deployment',
              shortNames: ['deploy'],
              categories: ['all'],
              subresources: [
                { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' } },
                { subresource: 'status', responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' } },
              ],
            },
          ],
        },
      ],
    })
  })

  it('/api holds the core group alone', () => {
    const { items } = read(discovery().legacy('v2'))
    expect(items).toHaveLength(1)
    expect(items[0].versions[0].resources.map((one: { resource: string }) => one.resource)).toEqual([
      'nodes',
      'pods',
      'podtemplates',
    ])
    expect(items[0].versions[0].resources[0]).toMatchObject({ scope: 'Cluster' })
  })
})

it('answers with the same document until kinds change', () => {
  const served = [...kinds]
  const changing = new Discovery(() => served, '')
  const before = changing.groups('v2')
  expect(changing.groups('v2')).toBe(before)
  served.push(kind('new.example', 'v1', 'Thing'))
  expect(changing.groups('v2')).toBe(before)
  changing.invalidate()
  expect(changing.groups('v2').etag).not.toBe(before.etag)
  expect(changing.group('new.example')).toBeDefined()
})

it('orders versions as Kubernetes does', () => {
  const versions = [
    'foo1',
    'v1alpha1',
    'v1',
    'v10',
    'v2beta1',
    'v11alpha2',
    'v3beta1',
    'v12alpha1',
    'v11beta2',
    'foo10',
    'v2',
  ]
  expect(versions.sort(compareVersions)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v3beta1',
    'v2beta1',
    'v12alpha1',
    'v11alpha2',
    'v1alpha1',
    'foo1',
    'foo10',
  ])
})

describe('negotiateDiscovery', () => {
  const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'
  it.each<[accept: string | undefined, form: string | undefined]>([
    [undefined, 'plain'],
    ['*/*', 'plain'],
    ['application/json', 'plain'],
    [`${v2},${v2beta1},application/json`, 'v2'],
    [`${v2beta1},application/json`, 'v2beta1'],
    [`application/json;q=0.5, ${v2};q=0.9`, 'v2'],
    ['application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json', 'plain'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io', undefined],
    ['application/vnd.kubernetes.protobuf', undefined],
    ['application/vnd.kubernetes.protobuf,*/*', 'plain'],
  ])('%s -> %s', (accept, form) => {
    expect(negotiateDiscovery(accept)).toBe(form)
  })
})
