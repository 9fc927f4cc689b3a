import { describe, expect } from 'vitest'
import { namespaceKind } from '../../src/api/kinds/core/namespace.ts'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { runtimeClassKind } from '../../src/api/kinds/node/runtime-class.ts'
import { priorityClassKind } from '../../src/api/kinds/scheduling/priority-class.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { conformanceTest, names, pod, workload } from '../tools/conformance.ts'

/** What the conformance suite asks of pods, nodes and scheduling, in our own words; see docs/conformance.md. */

const resources = (requests: object, limits = requests) => ({
  containers: [{ name: 'app', image: 'app:1', resources: { requests, limits } }],
})
const conditionOf = async (bench: ConformanceBench, name: string, type: string) =>
  (await bench.of(podKind).get(name)).status?.conditions?.find((one) => one.type === type)

describe('pods', () => {
  conformanceTest('are submitted, run with an address and a host address, and are removed', async (bench) => {
    const abort = new AbortController()
    const seen: string[] = []
    const watching = (async () => {
      const watch = bench.of(podKind).watch({ signal: abort.signal, labelSelector: 'app=web' })
      for await (const batch of watch) for (const { type } of batch) seen.push(type)
    })()
    await bench.apply(pod('web'))
    await bench.settled()
    const { status } = await bench.of(podKind).get('web')
    expect(status).toMatchObject({ phase: 'Running', podIP: expect.any(String), hostIP: expect.any(String) })
    expect(status?.hostIPs).toEqual([{ ip: status?.hostIP }])
    await bench.of(podKind).delete('web', { gracePeriodSeconds: 30 })
    await bench.settled()
    expect(await bench.codeOf(bench.of(podKind).get('web'))).toBe(404)
    abort.abort()
    await watching.catch(() => {})
    expect(seen[0]).toBe('ADDED')
    expect(seen.at(-1)).toBe('DELETED')
  })

  conformanceTest('may be changed in part: labels, image, deadline; and their status', async (bench) => {
    await bench.apply(pod('web'))
    await bench.settled()
    const current = await bench.of(podKind).get('web')
    const spec = { ...current.spec!, activeDeadlineSeconds: 300 }
    await bench.of(podKind).update({ ...current, metadata: { ...current.metadata, labels: { time: '1' } }, spec })
    const image = { spec: { containers: [{ name: 'app', image: 'app:2' }] } }
    const patched = await bench.of(podKind).patch('web', image, { type: 'application/strategic-merge-patch+json' })
    expect(patched.spec).toMatchObject({ activeDeadlineSeconds: 300, containers: [{ image: 'app:2' }] })
    expect(await bench.codeOf(bench.of(podKind).patch('web', { spec: { hostname: 'other' } }))).toBe(422)
    await bench.of(podKind).patch('web', { status: { message: 'seen' } }, { subresource: 'status' })
    const seen = await bench.of(podKind).get('web')
    expect(seen.status?.message).toBe('seen')
    const conditions = (seen.status?.conditions ?? []).map((one) =>
      one.type === 'Ready' ? { ...one, status: 'False' } : one,
    )
    const replaced = await bench.of(podKind).updateStatus({ ...seen, status: { ...seen.status, conditions } })
    expect(replaced.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }))
    expect(await bench.of(podKind).subresource('get', 'web', 'status')).toMatchObject({ status: { message: 'seen' } })
  })

  conformanceTest('are deleted as a collection', async (bench) => {
    await bench.apply(['one', 'two', 'three'].map((name) => pod(name, {}, { labels: { type: 'testing' } })))
    await bench.apply(pod('other'))
    await bench.settled()
    await bench.of(podKind).deleteCollection({}, { labelSelector: 'type=testing' })
    await bench.settled()
    expect(names(await bench.pods())).toEqual(['other'])
  })

  conformanceTest('count their generation from 1, by each change of the spec', async (bench) => {
    await bench.apply(pod('web', {}, { generation: 100 }))
    await bench.settled()
    const generations = async () => {
      const { metadata, status } = await bench.of(podKind).get('web')
      return [metadata.generation, status?.observedGeneration]
    }
    expect(await generations()).toEqual([1, 1])
    await bench.of(podKind).patch('web', { metadata: { annotations: { a: 'b' } } })
    await bench.settled()
    expect(await generations()).toEqual([1, 1])
    const toleration = (n: number) => ({
      key: 'counted',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: n,
    })
    const { tolerations = [] } = (await bench.of(podKind).get('web')).spec ?? {}
    for (let n = 1; n <= 500; n++)
      await bench.of(podKind).patch('web', { spec: { tolerations: [...tolerations, toleration(n)] } })
    await bench.settled()
    expect(await generations()).toEqual([501, 501])
    const slow = { annotations: { 'simulated.sampan.dev/terminate-after': '10s' } }
    await bench.apply(pod('slow', {}, slow))
    await bench.settled()
    await bench.of(podKind).delete('slow', { gracePeriodSeconds: 30 })
    expect((await bench.of(podKind).get('slow')).metadata.generation).toBe(2)
  })

  conformanceTest('have a class of service by what they ask for', async (bench) => {
    await bench.apply([
      pod('guaranteed', resources({ cpu: '100m', memory: '100Mi' })),
      pod('burstable', resources({ cpu: '100m' }, { cpu: '200m' })),
      pod('best-effort'),
    ])
    const classes = (await bench.pods()).map(({ status }) => status?.qosClass)
    expect(classes).toEqual(['BestEffort', 'Burstable', 'Guaranteed'])
  })

  conformanceTest('are refused with sysctls that are none', async (bench) => {
    const securityContext = {
      sysctls: [
        { name: 'foo-', value: 'bar' },
        { name: 'kernel.shmmax', value: '1' },
        { name: 'bar..', value: '42' },
      ],
    }
    const refused = bench.of(podKind).create(pod('bad', { securityContext }))
    await expect(refused).rejects.toMatchObject({
      code: 422,
      message: expect.stringMatching(
        /sysctls\[0\]\.name: Invalid value: "foo-".*sysctls\[2\]\.name: Invalid value: "bar\.\."/,
      ),
    })
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('sysctls[1]') })
  })
})

describe('namespaces', () => {
  conformanceTest('take their pods along, and pods first', async (bench) => {
    await bench.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } })
    const held = pod('held', {}, { finalizers: ['example.com/hold'] })
    await bench.apply([held, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } }], {
      namespace: 'gone',
    })
    await bench.settled()
    await bench.client.resource(namespaceKind).delete('gone')
    await bench.clock.advance('1m')
    const { configMapKind } = await import('../../src/api/kinds/core/config-map.ts')
    const left = await bench.client.resource(configMapKind).namespace('gone').list()
    expect(names(left.items)).toContain('settings')
    const conditions = (await bench.client.resource(namespaceKind).get('gone')).status?.conditions
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'True' }))
    await bench.client
      .resource(podKind)
      .namespace('gone')
      .patch('held', { metadata: { finalizers: null } })
    await bench.clock.advance('1m')
    expect(await bench.codeOf(bench.client.resource(namespaceKind).get('gone'))).toBe(404)
    await bench.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } })
    await bench.settled()
    expect((await bench.client.resource(podKind).namespace('gone').list()).items).toEqual([])
  })
})

describe('runtime classes', () => {
  conformanceTest('are needed by pods that name them, and add their overhead', async (bench) => {
    expect(await bench.codeOf(bench.of(podKind).create(pod('none', { runtimeClassName: 'gone' })))).toBe(403)
    await bench.client.resource(runtimeClassKind).create({
      metadata: { name: 'heavy' },
      handler: 'simulated',
      overhead: { podFixed: { cpu: '10m', memory: '1Mi' } },
      scheduling: { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } },
    })
    await bench.client.resource(runtimeClassKind).create({ metadata: { name: 'light' }, handler: 'simulated' })
    await bench.apply([pod('heavy', { runtimeClassName: 'heavy' }), pod('light', { runtimeClassName: 'light' })])
    await bench.settled()
    const heavy = await bench.of(podKind).get('heavy')
    expect(heavy.spec).toMatchObject({ overhead: { cpu: '10m', memory: '1Mi' }, nodeName: 'node-2' })
    const light = await bench.of(podKind).get('light')
    expect(light.spec?.overhead).toBeUndefined()
    expect(light.status?.phase).toBe('Running')
    await bench.client.resource(runtimeClassKind).delete('heavy')
    expect(await bench.codeOf(bench.of(podKind).create(pod('late', { runtimeClassName: 'heavy' })))).toBe(403)
  })
})

describe('nodes', () => {
  conformanceTest('live: made, labelled, tainted by status, deleted', async (bench) => {
    const nodes = bench.client.resource(nodeKind)
    await nodes.create({ metadata: { name: 'fake', labels: { type: 'fake' } } })
    await nodes.patch('fake', { metadata: { labels: { state: 'patched' } } })
    await nodes.patch('fake', { status: { phase: 'Running' } }, { subresource: 'status' })
    const fake = await nodes.get('fake')
    expect(fake.metadata.labels).toMatchObject({ type: 'fake', state: 'patched' })
    expect(names((await nodes.list({ labelSelector: 'type=fake' })).items)).toEqual(['fake'])
    await nodes.deleteCollection({}, { labelSelector: 'type=fake' })
    await bench.settled()
    expect(names((await nodes.list()).items)).toEqual(['node-1', 'node-2'])
  })

  const taint = (bench: ConformanceBench, taints: object[] | null) =>
    bench.client.resource(nodeKind).patch('node-1', { spec: { taints } })
  const EVICTING = { key: 'kubernetes.io/e2e-evict-taint-key', value: 'evictTaintVal', effect: 'NoExecute' }
  const tolerating = (tolerationSeconds: number) => ({
    nodeName: 'node-1',
    tolerations: [{ key: EVICTING.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
  })

  conformanceTest('evict pods when their time is over, each at its own', async (bench) => {
    await bench.apply([pod('short', tolerating(5)), pod('long', tolerating(60))])
    await bench.settled()
    await taint(bench, [EVICTING])
    await bench.clock.advance('2s')
    expect(names(await bench.pods())).toEqual(['long', 'short'])
    await bench.clock.advance('10s')
    expect(names(await bench.pods())).toEqual(['long'])
    await bench.clock.advance('1m')
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('let a pod be whose taint went in time', async (bench) => {
    await bench.apply(pod('lucky', tolerating(60)))
    await bench.settled()
    await taint(bench, [EVICTING])
    await bench.clock.advance('30s')
    await taint(bench, null)
    await bench.clock.advance('5m')
    expect(names(await bench.pods())).toEqual(['lucky'])
  })
})

describe('scheduling', () => {
  const nodes = [
    { name: 'node-1', labels: { color: 'blue' }, capacity: { cpu: '2', memory: '4Gi', pods: '20' } },
    { name: 'node-2', labels: { color: 'red' }, capacity: { cpu: '2', memory: '4Gi', pods: '20' } },
  ]
  const nodeOf = async (bench: ConformanceBench, name: string) => (await bench.of(podKind).get(name)).spec?.nodeName
  const cpu = (amount: string, more: object = {}) => ({ ...resources({ cpu: amount }), ...more })

  conformanceTest(
    'takes what pods ask for into account',
    async (bench) => {
      await bench.apply([pod('first', cpu('1500m')), pod('second', cpu('1500m'))])
      await bench.settled()
      await bench.apply(pod('third', cpu('1')))
      await bench.settled()
      expect(await nodeOf(bench, 'third')).toBeUndefined()
      expect(await conditionOf(bench, 'third', 'PodScheduled')).toMatchObject({
        status: 'False',
        reason: 'Unschedulable',
        message: expect.stringContaining('Insufficient cpu'),
      })
      await bench.of(podKind).delete('first')
      await bench.clock.advance('10s')
      expect(await nodeOf(bench, 'third')).toBeDefined()
    },
    { nodes },
  )

  conformanceTest(
    'respects node selectors',
    async (bench) => {
      await bench.apply([
        pod('red', { nodeSelector: { color: 'red' } }),
        pod('pink', { nodeSelector: { color: 'pink' } }),
      ])
      await bench.settled()
      expect(await nodeOf(bench, 'red')).toBe('node-2')
      expect(await nodeOf(bench, 'pink')).toBeUndefined()
      await bench.client.resource(nodeKind).patch('node-1', { metadata: { labels: { color: 'pink' } } })
      await bench.clock.advance('10s')
      expect(await nodeOf(bench, 'pink')).toBe('node-1')
    },
    { nodes },
  )

  conformanceTest('does not give a port of a host twice', async (bench) => {
    const onPort = (hostIP: string, protocol = 'TCP') => ({
      nodeSelector: { 'kubernetes.io/hostname': 'node-1' },
      containers: [{ name: 'app', image: 'app:1', ports: [{ containerPort: 80, hostPort: 54322, hostIP, protocol }] }],
    })
    await bench.apply(pod('everywhere', onPort('0.0.0.0')))
    await bench.settled()
    await bench.apply([pod('local', onPort('127.0.0.1')), pod('udp', onPort('127.0.0.1', 'UDP'))])
    await bench.settled()
    expect(await nodeOf(bench, 'local')).toBeUndefined()
    expect(await nodeOf(bench, 'udp')).toBe('node-1')
  })

  const priorities = async (bench: ConformanceBench) => {
    for (const [name, value] of [
      ['low', 1],
      ['high', 1000],
    ] as const)
      await bench.client.resource(priorityClassKind).create({ metadata: { name }, value })
  }

  conformanceTest(
    'preempts pods of lower priority, and says so on them',
    async (bench) => {
      await priorities(bench)
      const held = { finalizers: ['example.com/hold'] }
      await bench.apply([
        pod('victim', cpu('1500m', { priorityClassName: 'low' }), held),
        pod('equal', cpu('1500m', { priorityClassName: 'high' })),
      ])
      await bench.settled()
      await bench.apply(pod('preemptor', cpu('1500m', { priorityClassName: 'high' })))
      await bench.clock.advance('40s')
      const victim = await bench.of(podKind).get('victim')
      expect(victim.metadata.deletionTimestamp).toBeDefined()
      expect(await conditionOf(bench, 'victim', 'DisruptionTarget')).toMatchObject({
        status: 'True',
        reason: 'PreemptionByScheduler',
      })
      await bench.of(podKind).patch('victim', { metadata: { finalizers: null } })
      await bench.clock.advance('20s')
      expect(await nodeOf(bench, 'preemptor')).toBe(victim.spec?.nodeName)
      expect(names(await bench.pods())).toEqual(['equal', 'preemptor'])
    },
    { nodes },
  )

  conformanceTest(
    'makes room for critical pods',
    async (bench) => {
      await priorities(bench)
      await bench.apply([
        pod('low', cpu('1500m', { priorityClassName: 'low' })),
        pod('high', cpu('1500m', { priorityClassName: 'high' })),
      ])
      await bench.settled()
      const critical = pod('critical', cpu('1500m', { priorityClassName: 'system-cluster-critical' }))
      await bench.apply(critical, { namespace: 'kube-system' })
      await bench.clock.advance('1m')
      expect(names(await bench.pods())).toEqual(['high'])
      const { status } = await bench.client.resource(podKind).namespace('kube-system').get('critical')
      expect(status?.phase).toBe('Running')
    },
    { nodes },
  )

  conformanceTest(
    'preempts for ReplicaSets, the least of them first',
    async (bench) => {
      const levels = [1, 2, 3, 4]
      for (const value of levels)
        await bench.client.resource(priorityClassKind).create({ metadata: { name: `p${value}` }, value })
      const set = (level: number, replicas: number) => {
        const object = workload('ReplicaSet', `rs-${level}`, { replicas })
        const { template } = object.spec
        const spec = { ...cpu('500m'), priorityClassName: `p${level}`, nodeSelector: { color: 'blue' } }
        return { ...object, spec: { ...object.spec, template: { ...template, spec } } }
      }
      await bench.apply([set(1, 1), set(2, 1), set(3, 1)])
      await bench.settled()
      await bench.apply(set(4, 2))
      await bench.clock.advance('1m')
      const running = (await bench.pods())
        .filter(({ spec }) => spec?.nodeName)
        .map(({ metadata }) => metadata.labels?.app)
      expect(running.filter((app) => app === 'rs-4')).toHaveLength(2)
      expect(running).toContain('rs-3')
      expect(running).not.toContain('rs-1')
    },
    { nodes },
  )
})
