import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import type { ApiCall, ResourceType, Transport, WatchEvent } from '../client/transport.ts'
import { openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'
import { type ApiServer, startApiServer } from './server.ts'

const CONFIG_MAPS: ResourceType = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces', namespaced: false }
const SERVICES: ResourceType = { group: '', version: 'v1', plural: 'services', namespaced: true }
const DEPLOYMENTS: ResourceType = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true }
const PODS: ResourceType = { group: '', version: 'v1', plural: 'pods', namespaced: true }

type AnyObject = KubernetesObject & Record<string, unknown>

let store: Store
let server: ApiServer
let api: Transport

beforeAll(async () => {
  store = await openMemoryStore()
  server = await startApiServer({
    store,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
    disableAdmissionPlugins: ['ServiceAccount', 'StorageObjectInUseProtection'],
  })
  api = server.transport({ name: 'admin', groups: ['system:masters'] })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

const configMap = (name: string, data: Record<string, string> = { a: '1' }) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name },
  data,
})
const call = async (request: Omit<ApiCall, 'resource'> & { resource?: ResourceType }) =>
  (await api.call({ resource: CONFIG_MAPS, namespace: 'default', ...request })) as AnyObject
const create = (body: object, resource = CONFIG_MAPS) => call({ verb: 'create', resource, body })
const failure = async (promise: Promise<unknown>): Promise<ApiError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`)
  return error
}

describe('bootstrap', () => {
  it('makes the namespaces, the service range and the kubernetes Service', async () => {
    const namespaces = await call({ verb: 'list', resource: NAMESPACES, namespace: '' })
    const names = (namespaces.items as KubernetesObject[]).map((one) => one.metadata.name)
    expect(names).toEqual(expect.arrayContaining(['default', 'kube-node-lease', 'kube-public', 'kube-system']))
    const service = await call({ verb: 'get', resource: SERVICES, name: 'kubernetes' })
    expect(service.spec).toMatchObject({ clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'] })
  })
})

describe('create', () => {
  it('fills in what the server decides', async () => {
    const made = await create(configMap('made'))
    expect(made.metadata).toMatchObject({
      name: 'made',
      namespace: 'default',
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(Number(made.metadata.resourceVersion)).toBeGreaterThan(0)
    expect(made.metadata.managedFields).toHaveLength(1)
  })

  it('makes names from generateName', async () => {
    const made = await create({ ...configMap(''), metadata: { generateName: 'gen-' } })
    expect(made.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/)
  })

  it.each([
    ['twice the same name', configMap('made'), 409, 'AlreadyExists'],
    ['a bad name', configMap('Not A Name'), 422, 'Invalid'],
    ['no name', { ...configMap(''), metadata: {} }, 422, 'Invalid'],
    ['another kind', { ...configMap('x'), kind: 'Secret' }, 400, 'BadRequest'],
    ['a value of the wrong type', { ...configMap('x'), data: { a: 1 } }, 400, 'BadRequest'],
    ['a resourceVersion', { ...configMap('x'), metadata: { name: 'x', resourceVersion: '1' } }, 400, 'BadRequest'],
    ['another namespace', { ...configMap('x'), metadata: { name: 'x', namespace: 'other' } }, 400, 'BadRequest'],
  ])('refuses %s', async (_, body, code, reason) => {
    expect(await failure(create(body))).toMatchObject({ code, reason })
  })

  it('refuses a namespace that does not exist', async () => {
    const error = await failure(call({ verb: 'create', namespace: 'nowhere', body: configMap('x') }))
    expect(error).toMatchObject({ code: 404, message: 'namespaces "nowhere" not found' })
  })

  it('stores nothing on a dry run', async () => {
    const made = await call({ verb: 'create', query: { dryRun: 'All' }, body: configMap('dry') })
    expect(made.metadata.uid).toBeTruthy()
    expect(await failure(call({ verb: 'get', name: 'dry' }))).toMatchObject({ code: 404 })
  })

  it('refuses unknown fields when asked to be strict', async () => {
    const body = { ...configMap('strict'), extra: 1 }
    const error = await failure(call({ verb: 'create', query: { fieldValidation: 'Strict' }, body }))
    expect(error.message).toContain('unknown field "extra"')
    const made = await call({ verb: 'create', body })
    expect(made.extra).toBeUndefined()
  })
})

describe('update', () => {
  it('changes only if the version is still the one given', async () => {
    const made = await create(configMap('versioned'))
    const changed = await call({ verb: 'update', name: 'versioned', body: { ...made, data: { a: '2' } } })
    expect(changed.data).toEqual({ a: '2' })
    const error = await failure(call({ verb: 'update', name: 'versioned', body: { ...made, data: { a: '3' } } }))
    expect(error).toMatchObject({ code: 409, reason: 'Conflict' })
  })

  it('changes whatever is there if the version is zero', async () => {
    const zero = { ...configMap('zero'), metadata: { name: 'zero', resourceVersion: '0' } }
    const made = await create(zero)
    const changed = await call({ verb: 'update', name: 'zero', body: { ...zero, data: { a: '2' } } })
    expect(changed.data).toEqual({ a: '2' })
    expect(Number(changed.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
  })

  it('keeps the version when nothing changes', async () => {
    const made = await create(configMap('same'))
    const again = await call({ verb: 'update', name: 'same', body: { ...made } })
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion)
  })

  it('stores no empty collections of metadata', async () => {
    await create({ ...configMap('emptied'), metadata: { name: 'emptied', labels: { a: 'b' }, finalizers: [] } })
    const body = { metadata: { labels: { a: null }, ownerReferences: [] } }
    const changed = await call({ verb: 'patch', name: 'emptied', patchType: 'application/merge-patch+json', body })
    expect(Object.keys(changed.metadata)).not.toEqual(expect.arrayContaining(['labels']))
    expect(changed.metadata).not.toHaveProperty('finalizers')
    expect(changed.metadata).not.toHaveProperty('ownerReferences')
  })

  it('loses none of many concurrent patches', async () => {
    await create(configMap('busy', {}))
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call({
          verb: 'patch',
          name: 'busy',
          patchType: 'application/merge-patch+json',
          body: { data: { [`k${i}`]: 'x' } },
        }),
      ),
    )
    expect(Object.keys((await call({ verb: 'get', name: 'busy' })).data as object)).toHaveLength(20)
  })
})

describe('patch', () => {
  it.each([
    ['application/json-patch+json', [{ op: 'add', path: '/data/b', value: '2' }]],
    ['application/merge-patch+json', { data: { b: '2' } }],
    ['application/strategic-merge-patch+json', { data: { b: '2' } }],
    ['application/apply-patch+yaml', { kind: 'ConfigMap', apiVersion: 'v1', data: { b: '2' } }],
  ] as const)('by %s', async (patchType, body) => {
    const name = `patched-${patchType.replace(/\W/g, '-')}`
    await create(configMap(name))
    const changed = await call({ verb: 'patch', name, patchType, body, query: { fieldManager: 'test' } })
    expect(changed.data).toEqual({ a: '1', b: '2' })
  })

  it('apply creates, conflicts, and takes over by force', async () => {
    const apply = (manager: string, value: string, force = false) =>
      call({
        verb: 'patch',
        name: 'applied',
        patchType: 'application/apply-patch+yaml',
        query: { fieldManager: manager, ...(force && { force: 'true' }) },
        body: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'applied' }, data: { a: value } },
      })
    const first = await apply('one', '1')
    expect((await apply('one', '1')).metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const error = await failure(apply('two', '2'))
    expect(error).toMatchObject({ code: 409 })
    expect(error.message).toContain('.data.a')
    expect((await apply('two', '2', true)).data).toEqual({ a: '2' })
  })
})

describe('delete', () => {
  it('answers with a Status', async () => {
    await create(configMap('gone'))
    expect(await call({ verb: 'delete', name: 'gone' })).toMatchObject({ kind: 'Status', status: 'Success' })
    expect(await failure(call({ verb: 'get', name: 'gone' }))).toMatchObject({ code: 404 })
  })

  it('waits for finalizers', async () => {
    await create({ ...configMap('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } })
    const held = await call({ verb: 'delete', name: 'held' })
    expect(held.metadata.deletionTimestamp).toBeTruthy()
    await call({
      verb: 'patch',
      name: 'held',
      patchType: 'application/merge-patch+json',
      body: { metadata: { finalizers: null } },
    })
    expect(await failure(call({ verb: 'get', name: 'held' }))).toMatchObject({ code: 404 })
  })

  it('obeys preconditions', async () => {
    await create(configMap('pinned'))
    const error = await failure(call({ verb: 'delete', name: 'pinned', body: { preconditions: { uid: 'other' } } }))
    expect(error).toMatchObject({ code: 409 })
  })

  it('of a collection follows the selector', async () => {
    for (const [name, app] of [
      ['c1', 'x'],
      ['c2', 'x'],
      ['c3', 'y'],
    ]) {
      await create({ ...configMap(name!), metadata: { name: name!, labels: { collection: app! } } })
    }
    await call({ verb: 'deletecollection', query: { labelSelector: 'collection=x' } })
    const left = await call({ verb: 'list', query: { labelSelector: 'collection' } })
    expect((left.items as KubernetesObject[]).map((one) => one.metadata.name)).toEqual(['c3'])
  })
})

describe('list', () => {
  it('comes in consistent chunks', async () => {
    await call({ verb: 'create', resource: NAMESPACES, namespace: '', body: { metadata: { name: 'chunks' } } })
    const names = Array.from({ length: 10 }, (_, i) => `c${i}`)
    for (const name of names) await call({ verb: 'create', namespace: 'chunks', body: configMap(name) })
    const first = await call({ verb: 'list', namespace: 'chunks', query: { limit: '4' } })
    expect(first.metadata).toMatchObject({ remainingItemCount: 6 })
    await call({ verb: 'create', namespace: 'chunks', body: configMap('c9-late') })
    const token = (first.metadata as { continue?: string }).continue!
    const rest = await call({ verb: 'list', namespace: 'chunks', query: { limit: '100', continue: token } })
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const seen = [...(first.items as KubernetesObject[]), ...(rest.items as KubernetesObject[])]
    expect(seen.map((one) => one.metadata.name)).toEqual(names)
  })

  it.each([
    [{ resourceVersionMatch: 'Exact' }, 422],
    [{ resourceVersion: 'abc' }, 400],
    [{ labelSelector: 'a in (' }, 400],
    [{ fieldSelector: 'spec.unheard=1' }, 400],
    [{ continue: 'garbage' }, 400],
    [{ limit: 'many' }, 400],
  ])('refuses %j', async (query, code) => {
    expect(await failure(call({ verb: 'list', query: query as unknown as Record<string, string> }))).toMatchObject({
      code,
    })
  })
})

describe('watch', () => {
  const collect = async (query: Record<string, string>, count: number): Promise<string[]> => {
    const seen: WatchEvent[] = []
    const stop = new AbortController()
    for await (const batch of api.watch({ resource: CONFIG_MAPS, namespace: 'default', query, signal: stop.signal })) {
      seen.push(...batch)
      if (seen.length >= count) break
    }
    stop.abort()
    return seen.map(({ type, object }) => `${type} ${(object as KubernetesObject).metadata.name ?? ''}`.trim())
  }

  it('goes on from a version without gap', async () => {
    const made = await create(configMap('w1'))
    await call({ verb: 'patch', name: 'w1', patchType: 'application/merge-patch+json', body: { data: { a: '2' } } })
    await call({ verb: 'delete', name: 'w1' })
    expect(await collect({ resourceVersion: made.metadata.resourceVersion! }, 2)).toEqual(['MODIFIED w1', 'DELETED w1'])
  })

  it('tells of an object that starts and stops matching', async () => {
    const made = await create(configMap('w2'))
    const label = (value: string | null) =>
      call({
        verb: 'patch',
        name: 'w2',
        patchType: 'application/merge-patch+json',
        body: { metadata: { labels: { watched: value } } },
      })
    await label('yes')
    await label(null)
    const query = { resourceVersion: made.metadata.resourceVersion!, labelSelector: 'watched=yes' }
    expect(await collect(query, 2)).toEqual(['ADDED w2', 'DELETED w2'])
  })

  it('streams the state first and says when that is done', async () => {
    await create({ ...configMap('w3'), metadata: { name: 'w3', labels: { initial: 'yes' } } })
    const query = {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      labelSelector: 'initial',
    }
    expect(await collect(query, 2)).toEqual(['ADDED w3', 'BOOKMARK'])
  })
})

describe('subresources', () => {
  const deployment = {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
    },
  }

  it('scale is a view of replicas', async () => {
    await create(deployment, DEPLOYMENTS)
    const at = { resource: DEPLOYMENTS, name: 'web', subresource: 'scale' }
    const scale = await call({ verb: 'get', ...at })
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 1 }, status: { selector: 'app=web' } })
    await call({ verb: 'update', ...at, body: { ...scale, spec: { replicas: 3 } } })
    expect((await call({ verb: 'get', resource: DEPLOYMENTS, name: 'web' })).spec).toMatchObject({ replicas: 3 })
  })

  it('status changes nothing but the status, and the main resource everything else', async () => {
    const patch = (subresource: string, body: object) =>
      call({
        verb: 'patch',
        resource: DEPLOYMENTS,
        name: 'web',
        subresource,
        patchType: 'application/merge-patch+json',
        body,
      })
    await patch('status', { spec: { replicas: 9 }, status: { replicas: 2 } })
    const after = await patch('', { status: { replicas: 7 }, spec: { paused: true } })
    expect(after).toMatchObject({ spec: { replicas: 3, paused: true }, status: { replicas: 2 } })
  })

  it('binding gives a pod its node, once', async () => {
    const pod = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    }
    await create(pod, PODS)
    const bind = (node: string) =>
      call({
        verb: 'create',
        resource: PODS,
        name: 'p',
        subresource: 'binding',
        body: { metadata: { name: 'p' }, target: { kind: 'Node', name: node } },
      })
    await bind('n1')
    expect((await call({ verb: 'get', resource: PODS, name: 'p' })).spec).toMatchObject({ nodeName: 'n1' })
    expect(await failure(bind('n2'))).toMatchObject({ code: 409 })
  })
})

describe('admission', () => {
  it('writes into a certificate request who makes it', async () => {
    const requests: ResourceType = {
      group: 'certificates.k8s.io',
      version: 'v1',
      plural: 'certificatesigningrequests',
      namespaced: false,
    }
    const pem = '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n'
    const spec = {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'example.com/x',
      usages: ['client auth'],
      username: 'forged',
    }
    const body = {
      kind: 'CertificateSigningRequest',
      apiVersion: 'certificates.k8s.io/v1',
      metadata: { name: 'csr' },
      spec,
    }
    const made = await call({ verb: 'create', resource: requests, namespace: '', body })
    expect(made.spec).toMatchObject({ username: 'admin', groups: ['system:masters'] })
  })
})

describe('component statuses', () => {
  const resource: ResourceType = { group: '', version: 'v1', plural: 'componentstatuses', namespaced: false }

  it('tell that the store is well', async () => {
    const listed = await call({ verb: 'list', resource, namespace: '' })
    expect(listed.items).toMatchObject([
      { metadata: { name: 'etcd-0' }, conditions: [{ type: 'Healthy', status: 'True' }] },
    ])
    expect(await call({ verb: 'get', resource, namespace: '', name: 'etcd-0' })).toMatchObject({
      kind: 'ComponentStatus',
    })
    expect(await failure(call({ verb: 'get', resource, namespace: '', name: 'other' }))).toMatchObject({ code: 404 })
    expect(await failure(call({ verb: 'create', resource, namespace: '', body: {} }))).toMatchObject({ code: 405 })
  })
})

describe('access', () => {
  it('is denied to everyone but system:masters', async () => {
    const nobody = server.transport({ name: 'nobody', groups: ['system:authenticated'] })
    const error = await failure(nobody.call({ verb: 'list', resource: CONFIG_MAPS, namespace: 'default' }))
    expect(error).toMatchObject({ code: 403, reason: 'Forbidden' })
    expect(error.message).toContain(
      'User "nobody" cannot list resource "configmaps" in API group "" in the namespace "default"',
    )
  })
})
