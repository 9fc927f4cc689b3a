import { describe, expect, test } from 'vitest'
import { at, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

/** What single kinds promise beyond the common life of all. */

const NAMESPACE = 'objects'
const server = useCluster(NAMESPACE)
const core = (plural: string, name = '') => `/api/v1/namespaces/${NAMESPACE}/${plural}${name && `/${name}`}`
const apps = (plural: string, name = '') => `/apis/apps/v1/namespaces/${NAMESPACE}/${plural}${name && `/${name}`}`
const container = { name: 'main', image: 'registry.k8s.io/pause:3.10' }
const labels = { app: 'x' }
const template = { metadata: { labels }, spec: { containers: [container] } }

describe('names', () => {
  test('generateName makes a fresh name each time', async () => {
    const names = new Set<string>()
    for (let i = 0; i < 5; i++) {
      const made = expectStatus(
        await server.api.create(core('configmaps'), { metadata: { generateName: 'many-' } }),
        201,
      )
      names.add(textAt(made.object, 'metadata.name'))
    }
    expect(names.size).toBe(5)
    for (const name of names) expect(name).toMatch(/^many-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  })

  test('an object in a namespace that is not there', async () => {
    const answer = await server.api.create('/api/v1/namespaces/absent/configmaps', { metadata: { name: 'x' } })
    expectStatus(answer, 404)
    expect(textAt(answer.object, 'message')).toBe('namespaces "absent" not found')
  })
})

describe('immutable', () => {
  test.each(['configmaps', 'secrets'])('%s', async (plural) => {
    const value = plural === 'secrets' ? 'MQ==' : '1'
    const body = { metadata: { name: 'frozen' }, immutable: true, data: { a: value } }
    expectStatus(await server.api.create(core(plural), body), 201)
    const changed = await server.api.patch(core(plural, 'frozen'), { data: { a: 'Mg==' } })
    expectStatus(changed, 422)
    expect(textAt(changed.object, 'message')).toContain('data: Forbidden: field is immutable when `immutable` is set')
    const thawed = await server.api.patch(core(plural, 'frozen'), { immutable: false })
    expectStatus(thawed, 422)
    expect(textAt(thawed.object, 'message')).toContain(
      'immutable: Forbidden: field is immutable when `immutable` is set',
    )
    expectStatus(await server.api.patch(core(plural, 'frozen'), { metadata: { labels: { a: 'b' } } }), 200)
    expectStatus(await server.api.delete(core(plural, 'frozen')), 200)
  })

  test('the selector of a Deployment', async () => {
    const spec = { selector: { matchLabels: labels }, template }
    expectStatus(await server.api.create(apps('deployments'), { metadata: { name: 'fixed' }, spec }), 201)
    const other = {
      spec: { selector: { matchLabels: { app: 'y' } }, template: { metadata: { labels: { app: 'y' } } } },
    }
    const answer = expectStatus(await server.api.patch(apps('deployments', 'fixed'), other), 422)
    expect(textAt(answer.object, 'message')).toMatch(/spec\.selector: Invalid value: .*: field is immutable/)
  })

  test('the template of a Job', async () => {
    const jobs = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`
    const spec = { template: { spec: { restartPolicy: 'Never', containers: [container] } } }
    expectStatus(await server.api.create(jobs, { metadata: { name: 'fixed' }, spec }), 201)
    const patch = [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'other' }]
    expectStatus(await server.api.patch(`${jobs}/fixed`, patch, 'json'), 422)
  })
})

describe('Service', () => {
  const service = (name: string, spec: object) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } })

  test('gets an address and a node port, and gives both back', async () => {
    const first = expectStatus(await server.api.create(core('services'), service('one', { type: 'NodePort' })), 201)
    const ip = textAt(first.object, 'spec.clusterIP')
    const port = Number(at(first.object, 'spec.ports.0.nodePort'))
    expect(ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
    expect(port).toBeGreaterThanOrEqual(30000)
    expect(port).toBeLessThanOrEqual(32767)
    expect(first.object).toMatchObject({
      spec: {
        clusterIPs: [ip],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
      },
    })
    const taken = await server.api.create(core('services'), service('two', { clusterIP: ip }))
    expectStatus(taken, 422)
    expect(textAt(taken.object, 'message')).toContain('spec.clusterIPs: Invalid value')
    expect(textAt(taken.object, 'message')).toContain('provided IP is already allocated')
    const samePort = { type: 'NodePort', ports: [{ port: 80, nodePort: port }] }
    const portTaken = expectStatus(await server.api.create(core('services'), service('three', samePort)), 422)
    expect(textAt(portTaken.object, 'message')).toContain('provided port is already allocated')
    expectStatus(await server.api.get(`/apis/networking.k8s.io/v1/ipaddresses/${ip}`), 200)
    expectStatus(await server.api.delete(core('services', 'one')), 200)
    expectStatus(await server.api.create(core('services'), service('two', { clusterIP: ip, ...samePort })), 201)
  })

  test('a ClusterIP cannot change; a headless one has none', async () => {
    const made = expectStatus(await server.api.create(core('services'), service('fixed', {})), 201)
    const changed = await server.api.patch(core('services', 'fixed'), {
      spec: { clusterIP: '10.0.0.250', clusterIPs: ['10.0.0.250'] },
    })
    expectStatus(changed, 422)
    expect(textAt(changed.object, 'message')).toContain('spec.clusterIPs[0]: Invalid value')
    const headless = expectStatus(
      await server.api.create(core('services'), service('headless', { clusterIP: 'None' })),
      201,
    )
    expect(at(headless.object, 'spec.clusterIP')).toBe('None')
    expect(made.object).toBeTruthy()
  })

  test('ExternalName gives its address back', async () => {
    const made = expectStatus(await server.api.create(core('services'), service('leaving', {})), 201)
    const ip = textAt(made.object, 'spec.clusterIP')
    const patch = { spec: { type: 'ExternalName', externalName: 'example.com', clusterIP: null, clusterIPs: null } }
    expectStatus(await server.api.patch(core('services', 'leaving'), patch), 200)
    expectStatus(await server.api.get(`/apis/networking.k8s.io/v1/ipaddresses/${ip}`), 404)
  })

  test('dry runs allocate nothing', async () => {
    const dry = await server.api.create(`${core('services')}?dryRun=All`, service('dry', { type: 'NodePort' }))
    expectStatus(dry, 201)
    expect(at(dry.object, 'spec.clusterIP')).toBeTruthy()
    expectStatus(
      await server.api.get(`/apis/networking.k8s.io/v1/ipaddresses/${textAt(dry.object, 'spec.clusterIP')}`),
      404,
    )
  })

  test('the API itself is one', async () => {
    const { object } = expectStatus(await server.api.get('/api/v1/namespaces/default/services/kubernetes'), 200)
    expect(object).toMatchObject({
      spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
    })
    expectStatus(await server.api.get('/api/v1/namespaces/default/endpoints/kubernetes'), 200)
    const slices = await server.api.get('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes')
    expect(expectStatus(slices, 200).object).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    })
  })
})

describe('Pod', () => {
  const pod = (name: string, spec: object) => ({ metadata: { name }, spec: { containers: [container], ...spec } })
  const withResources = (resources: object) => ({ containers: [{ ...container, resources }] })

  test.each([
    ['Guaranteed', withResources({ limits: { cpu: '100m', memory: '100Mi' } })],
    ['Burstable', withResources({ requests: { cpu: '100m' } })],
    ['BestEffort', {}],
  ])('is of class %s', async (qosClass, spec) => {
    const made = expectStatus(await server.api.create(core('pods'), pod(qosClass.toLowerCase(), spec)), 201)
    expect(made.object).toMatchObject({ status: { phase: 'Pending', qosClass } })
  })

  test('is bound once', async () => {
    expectStatus(await server.api.create(core('pods'), pod('bound', {})), 201)
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'bound' },
      target: { kind: 'Node', name: 'node-1' },
    }
    expectStatus(await server.api.create(`${core('pods', 'bound')}/binding`, binding), 201)
    expect(at((await server.api.get(core('pods', 'bound'))).object, 'spec.nodeName')).toBe('node-1')
    expectStatus(await server.api.create(`${core('pods', 'bound')}/binding`, binding), 409)
  })

  test('with a node gets a grace period, without one goes at once', async () => {
    expectStatus(await server.api.create(core('pods'), pod('unscheduled', {})), 201)
    expectStatus(await server.api.delete(core('pods', 'unscheduled')), 200)
    expectStatus(await server.api.get(core('pods', 'unscheduled')), 404)
    const deleting = expectStatus(await server.api.delete(core('pods', 'bound')), 200)
    expect(at(deleting.object, 'metadata.deletionGracePeriodSeconds')).toBe(30)
    expect(at((await server.api.get(core('pods', 'bound'))).object, 'metadata.deletionTimestamp')).toBeTypeOf('string')
    expectStatus(await server.api.delete(core('pods', 'bound'), { gracePeriodSeconds: 0 }), 200)
    expectStatus(await server.api.get(core('pods', 'bound')), 404)
  })

  test('sysctls are checked', async () => {
    const sysctls = ['foo-', 'kernel.shmmax', 'safe-and-unsafe', 'bar..']
    const spec = { securityContext: { sysctls: sysctls.map((name) => ({ name, value: '1' })) } }
    const answer = expectStatus(await server.api.create(core('pods'), pod('sysctls', spec)), 422)
    for (const name of ['foo-', 'bar..']) expect(textAt(answer.object, 'message')).toContain(`Invalid value: "${name}"`)
    expect(textAt(answer.object, 'message')).not.toContain('kernel.shmmax')
  })

  test('an unknown RuntimeClass is refused', async () => {
    const answer = await server.api.create(core('pods'), pod('classless', { runtimeClassName: 'missing' }))
    expectStatus(answer, 403)
    expect(textAt(answer.object, 'message')).toContain('RuntimeClass "missing" not found')
  })

  test('field selectors', async () => {
    const pending = await server.api.get(`${core('pods')}?fieldSelector=status.phase%3DPending,spec.nodeName%3D`)
    expect(listAt(expectStatus(pending, 200).object, 'items').length).toBeGreaterThan(0)
  })
})

describe('Scale', () => {
  test.each(['deployments', 'replicasets', 'statefulsets'])('%s', async (plural) => {
    const spec = { selector: { matchLabels: labels }, template, ...(plural === 'statefulsets' && { serviceName: 's' }) }
    expectStatus(await server.api.create(apps(plural), { metadata: { name: 'scaled' }, spec }), 201)
    const path = `${apps(plural, 'scaled')}/scale`
    const scale = expectStatus(await server.api.get(path), 200).object
    expect(scale).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 1 },
      status: { selector: 'app=x' },
    })
    expectStatus(await server.api.update(path, { ...scale, spec: { replicas: 3 } }), 200)
    expect(at((await server.api.get(apps(plural, 'scaled'))).object, 'spec.replicas')).toBe(3)
    expectStatus(await server.api.update(path, { ...scale, spec: { replicas: 4 } }), 409)
    expectStatus(await server.api.patch(path, { spec: { replicas: 5 } }), 200)
    expect(at((await server.api.get(apps(plural, 'scaled'))).object, 'metadata.generation')).toBe(3)
  })
})

describe('deletion', () => {
  test('finalizers keep an object until the last is gone', async () => {
    const path = core('configmaps', 'held')
    const metadata = { name: 'held', finalizers: ['example.com/one', 'example.com/two'] }
    expectStatus(await server.api.create(core('configmaps'), { metadata }), 201)
    expectStatus(await server.api.delete(path), 200)
    const held = expectStatus(await server.api.get(path), 200).object
    expect(at(held, 'metadata.deletionTimestamp')).toBeTypeOf('string')
    expect(at(held, 'metadata.deletionGracePeriodSeconds')).toBe(0)
    const added = await server.api.patch(path, { metadata: { finalizers: ['example.com/one', 'example.com/three'] } })
    expectStatus(added, 422)
    expectStatus(await server.api.patch(path, { metadata: { finalizers: ['example.com/one'] } }), 200)
    expectStatus(await server.api.patch(path, { metadata: { finalizers: [] } }), 200)
    expectStatus(await server.api.get(path), 404)
  })

  test('preconditions', async () => {
    const made = await server.api.create(core('configmaps'), { metadata: { name: 'guarded' } })
    const path = core('configmaps', 'guarded')
    expectStatus(await server.api.delete(path, { preconditions: { resourceVersion: '1' } }), 409)
    expectStatus(await server.api.delete(`${path}?dryRun=All`), 200)
    const answer = await server.api.delete(path, { preconditions: { uid: textAt(made.object, 'metadata.uid') } })
    expect(expectStatus(answer, 200).object).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'guarded', kind: 'configmaps', uid: textAt(made.object, 'metadata.uid') },
    })
  })

  test.each([
    ['Orphan', 'orphan'],
    ['Foreground', 'foregroundDeletion'],
  ])('%s marks the object for the garbage collector', async (propagationPolicy, finalizer) => {
    const name = `cascade-${propagationPolicy.toLowerCase()}`
    const spec = {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { ...template, metadata: { labels: { app: name } } },
    }
    expectStatus(await server.api.create(apps('replicasets'), { metadata: { name }, spec }), 201)
    const answer = await server.api.delete(apps('replicasets', name), { propagationPolicy })
    expect(at(expectStatus(answer, 200).object, 'metadata.finalizers')).toEqual([finalizer])
    expect(at(answer.object, 'metadata.deletionTimestamp')).toBeTypeOf('string')
  })
})

describe('Namespace', () => {
  test('starts Active with a finalizer, refuses new objects while it ends', async () => {
    const made = expectStatus(await server.api.create('/api/v1/namespaces', { metadata: { name: 'ending' } }), 201)
    expect(made.object).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'ending' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
    // Something that will not go keeps the namespace where it can be looked at.
    const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } }
    expectStatus(await server.api.create('/api/v1/namespaces/ending/configmaps', held), 201)
    const gone = expectStatus(await server.api.delete('/api/v1/namespaces/ending'), 200)
    expect(gone.object).toMatchObject({ status: { phase: 'Terminating' } })
    const late = await server.api.create('/api/v1/namespaces/ending/configmaps', { metadata: { name: 'late' } })
    expectStatus(late, 403)
    expect(textAt(late.object, 'message')).toContain(
      'unable to create new content in namespace ending because it is being terminated',
    )
    expect(at(late.object, 'details.causes.0.reason')).toBe('NamespaceTerminating')
  })

  test.each(['default', 'kube-system', 'kube-public', 'kube-node-lease'])(
    '%s is there from the start',
    async (name) => {
      expectStatus(await server.api.get(`/api/v1/namespaces/${name}`), 200)
    },
  )

  test('the default one cannot go', async () => {
    expectStatus(await server.api.delete('/api/v1/namespaces/default'), 403)
  })
})

describe('reviews', () => {
  test('who am I', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const answer = await server.api.create('/apis/authentication.k8s.io/v1/selfsubjectreviews', body)
    expect(expectStatus(answer, 201).object).toMatchObject({
      status: { userInfo: { groups: expect.arrayContaining(['system:masters', 'system:authenticated']) } },
    })
  })

  test('may I', async () => {
    const body = { spec: { resourceAttributes: { verb: 'delete', resource: 'nodes' } } }
    const answer = await server.api.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body)
    expect(expectStatus(answer, 201).object).toMatchObject({ status: { allowed: true } })
    const other = { spec: { user: 'nobody', resourceAttributes: { verb: 'delete', resource: 'nodes' } } }
    const denied = await server.api.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', other)
    expect(expectStatus(denied, 201).object).toMatchObject({ status: { allowed: false } })
  })
})
