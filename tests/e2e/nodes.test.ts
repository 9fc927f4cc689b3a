import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCluster, type TestCluster } from '../../src/testing/index.ts'
import { KUBECTL_VERSIONS, kubectlRunsHere } from '../tools/kubectl.ts'
import { type KubectlSession, kubectlSession } from '../tools/kubectl-session.ts'

/** What administrators do to nodes and workloads with kubectl, on simulated nodes. */

const NODES = [
  { name: 'node-1', labels: { disk: 'ssd' } },
  { name: 'node-2', labels: { disk: 'hdd' } },
  { name: 'node-3', labels: { disk: 'hdd' } },
]

const podSpec = (more: object = {}) => ({ containers: [{ name: 'app', image: 'app:1' }], ...more })
const workload = (kind: string, name: string, spec: object, pod: object = podSpec(), annotations: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name }, annotations }, spec: pod },
    ...spec,
  },
})
const usage = (cpu: string, memory: string) => ({
  'simulated.sampan.dev/cpu': cpu,
  'simulated.sampan.dev/memory': memory,
})

describe.runIf(kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  let cluster: TestCluster
  let session: KubectlSession
  const ok = (line: string) => session.ok(line)
  const fails = (line: string) => session.fails(line)
  const nodesOf = async (app: string) =>
    (await ok(`get pods -l app=${app} -o jsonpath={.items[*].spec.nodeName}`)).split(' ').filter(Boolean).sort()
  const minor = Number(version.split('.')[1])

  beforeAll(async () => {
    cluster = await startCluster({ nodes: NODES })
    session = await kubectlSession(version, await cluster.kubeconfig)
  })
  afterAll(async () => {
    session?.[Symbol.dispose]()
    await cluster?.dispose()
  })

  test('scale', async () => {
    await session.apply(
      workload('Deployment', 'scaled', { replicas: 1 }),
      workload('StatefulSet', 'ordered', { replicas: 1, serviceName: 'ordered' }),
      workload('ReplicaSet', 'plain', { replicas: 1 }),
    )
    expect(await ok('scale deployment/scaled statefulset/ordered rs/plain --replicas=3')).toMatch(/^(.* scaled\n){3}$/)
    const ready = '--for=jsonpath={.status.readyReplicas}=3 --timeout=30s'
    await ok(`wait deployment/scaled statefulset/ordered rs/plain ${ready}`)
    expect(await fails('scale deployment/scaled --current-replicas=2 --replicas=5')).toMatch(/[Ee]xpected replicas/)
    await ok('scale deployment/scaled --current-replicas=3 --replicas=0')
    await ok('wait pod -l app=scaled --for=delete --timeout=30s')
    expect(await nodesOf('scaled')).toEqual([])
    await ok('delete deployment/scaled statefulset/ordered rs/plain')
  })

  test('top', async () => {
    const busy = { ...usage('250m', '64Mi'), 'simulated.sampan.dev/cpu.side': '50m' }
    const pod = {
      containers: [
        { name: 'app', image: 'app:1' },
        { name: 'side', image: 'side:1' },
      ],
    }
    await session.apply(
      { kind: 'Pod', metadata: { name: 'busy', labels: { app: 'busy' }, annotations: busy }, spec: pod },
      {
        kind: 'Pod',
        metadata: { name: 'lazy', labels: { app: 'lazy' }, annotations: usage('10m', '512Mi') },
        spec: podSpec({ nodeSelector: { disk: 'ssd' } }),
      },
    )
    await ok('wait pod/busy pod/lazy --for=condition=Ready --timeout=30s')
    expect(await ok('top pod busy')).toMatch(/NAME +CPU\(cores\) +MEMORY\(bytes\) *\nbusy +300m +128Mi/)
    expect(await ok('top pod --sort-by=memory --no-headers')).toMatch(/^lazy[\s\S]*busy/)
    expect(await ok('top pod --sort-by=cpu --no-headers')).toMatch(/^busy[\s\S]*lazy/)
    expect(await ok('top pod -l app=lazy --no-headers')).toMatch(/^lazy +10m +512Mi *\n$/)
    expect(await ok('top pod -A --field-selector=metadata.name=busy')).toMatch(
      /NAMESPACE.*\ndefault +busy +300m +128Mi/,
    )
    expect(await ok('top pod busy --containers')).toMatch(/busy +app +250m +64Mi *\nbusy +side +50m +64Mi/)
    expect(await ok('top node')).toMatch(/node-1 +\d+m +\d+% +\d+Mi +\d+% *\nnode-2 /)
    expect(await ok('top node -l disk=ssd --no-headers')).toMatch(/^node-1 [^\n]*\n$/)
    expect((await ok('top node --sort-by=memory --no-headers')).split(' ')[0]).toBe('node-1')
    expect(await fails('top pod gone')).toContain('podmetrics.metrics.k8s.io "default/gone" not found')
    expect(await ok('api-resources --api-group=metrics.k8s.io')).toMatch(/nodes .*NodeMetrics\s+pods .*PodMetrics/)
    expect(await ok('get pods.metrics.k8s.io busy')).toMatch(/NAME +CPU +MEMORY +WINDOW *\nbusy +300m +128Mi +15s/)
    expect(await ok('get --raw /apis/metrics.k8s.io/v1beta1/nodes/node-1')).toContain('"kind":"NodeMetrics"')
    expect(await ok('explain pods --api-version=metrics.k8s.io/v1beta1')).toMatch(/containers[\s\S]*window/)
    await ok('delete pod busy lazy')
  })

  test('autoscale', async () => {
    const container = { name: 'app', image: 'app:1', resources: { requests: { cpu: '100m' } } }
    const load = usage('100m', '16Mi')
    await session.apply(workload('Deployment', 'elastic', { replicas: 1 }, { containers: [container] }, load))
    await ok('rollout status deployment/elastic --timeout=30s')
    expect(await ok('autoscale deployment elastic --cpu-percent=50 --min=1 --max=4')).toContain('autoscaled')
    await cluster.clock.advance('2m')
    await ok('wait deployment/elastic --for=jsonpath={.status.readyReplicas}=4 --timeout=30s')
    expect(await ok('get hpa elastic')).toMatch(/Deployment\/elastic +cpu: 100%\/50% +1 +4 +4 /)
    expect(await ok('describe hpa elastic')).toMatch(/SuccessfulRescale .*reason: cpu resource utilization/)
    await ok('delete hpa/elastic deployment/elastic')
  })

  test('cordon and uncordon', async () => {
    expect(await ok('cordon node-1 node-2')).toMatch(/node\/node-1 cordoned\nnode\/node-2 cordoned/)
    expect(await ok('get node node-1')).toContain('Ready,SchedulingDisabled')
    await session.apply(workload('Deployment', 'web', { replicas: 3 }))
    await ok('rollout status deployment/web --timeout=30s')
    expect(new Set(await nodesOf('web'))).toEqual(new Set(['node-3']))
    expect(await ok('cordon node-1')).toContain('already cordoned')
    expect(await ok('uncordon -l disk')).toMatch(/node-1 uncordoned[\s\S]*node-3 already uncordoned/)
    await ok('delete deployment/web')
  })

  test('taint', async () => {
    await session.apply(
      workload('DaemonSet', 'everywhere', {}),
      workload('DaemonSet', 'tolerant', {}, podSpec({ tolerations: [{ operator: 'Exists' }] })),
    )
    await ok('rollout status ds/everywhere --timeout=30s')
    expect(await ok('taint node node-1 team=blue:NoExecute')).toContain('node/node-1 tainted')
    await ok('wait ds/everywhere --for=jsonpath={.status.desiredNumberScheduled}=2 --timeout=30s')
    await expect.poll(() => nodesOf('everywhere'), { timeout: 20_000 }).toEqual(['node-2', 'node-3'])
    expect(await nodesOf('tolerant')).toEqual(['node-1', 'node-2', 'node-3'])
    expect(await fails('taint node node-1 team=red:NoExecute')).toContain('already has team taint')
    await ok('taint node node-1 team=red:NoExecute --overwrite')
    expect(await ok('taint node node-1 team-')).toContain('untainted')
    await expect.poll(() => nodesOf('everywhere'), { timeout: 20_000 }).toEqual(['node-1', 'node-2', 'node-3'])
    await ok('delete ds tolerant')
  })

  test('drain', async () => {
    const pinned = (name: string, more: object = {}) => ({
      kind: 'Pod',
      metadata: { name, labels: { app: name } },
      spec: podSpec({ nodeName: 'node-1', ...more }),
    })
    await session.apply(
      pinned('bare'),
      workload('Deployment', 'kept', { replicas: 3 }, podSpec({ volumes: [{ name: 'scratch', emptyDir: {} }] })),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'kept' },
        spec: { minAvailable: 2, selector: { matchLabels: { app: 'kept' } } },
      },
    )
    await ok('rollout status deployment/kept --timeout=30s')
    await ok('wait pod/bare --for=condition=Ready --timeout=30s')
    await ok('wait pdb/kept --for=jsonpath={.status.disruptionsAllowed}=1 --timeout=30s')
    const refusal = await fails('drain node-1')
    expect(refusal).toContain('cannot delete DaemonSet-managed Pods')
    expect(refusal).toContain('--delete-emptydir-data')
    expect(refusal).toMatch(/declare no controller|not managed by/)
    const all = '--ignore-daemonsets --delete-emptydir-data --force --timeout=60s'
    expect(await ok(`drain node-1 ${all} --dry-run=server`)).toContain('(server dry run)')
    expect(await nodesOf('bare')).toEqual(['node-1'])
    expect(await ok(`drain node-1 ${all}`)).toMatch(/pod\/bare evicted[\s\S]*node\/node-1 drained/)
    expect(await ok('get node node-1')).toContain('SchedulingDisabled')
    expect(await nodesOf('bare')).toEqual([])
    expect(await nodesOf('kept')).not.toContain('node-1')
    expect(await nodesOf('everywhere')).toContain('node-1')
    await ok('uncordon node-1')
  })

  test('a budget that allows no disruption holds up a drain', async () => {
    await ok('rollout status deployment/kept --timeout=30s')
    await ok('patch pdb kept --type=merge -p {"spec":{"minAvailable":3}}')
    await ok('wait pdb/kept --for=jsonpath={.status.disruptionsAllowed}=0 --timeout=30s')
    const [victim] = await nodesOf('kept')
    const options = '--ignore-daemonsets --delete-emptydir-data --force'
    const refusal = await fails(`drain ${victim} ${options} --timeout=2s`)
    expect(refusal).toMatch(/Cannot evict pod as it would violate the pod's disruption budget/)
    expect(await nodesOf('kept')).toHaveLength(3)
    // Deletion asks no budget.
    await ok(`drain ${victim} ${options} --timeout=60s --disable-eviction`)
    expect(await nodesOf('kept')).not.toContain(victim)
    await ok(`uncordon ${victim}`)
    await ok('delete pdb/kept deployment/kept ds/everywhere')
  })

  test('wait', async () => {
    const slow = { 'simulated.sampan.dev/ready-after': '2s' }
    await session.apply({ kind: 'Pod', metadata: { name: 'slow', annotations: slow }, spec: podSpec() })
    expect(await fails('wait pod/slow --for=condition=Ready --timeout=0s')).toMatch(/timed out|condition not met/)
    expect(await ok('wait pod/slow --for=condition=Ready --timeout=30s')).toContain('pod/slow condition met')
    await ok('wait pod/slow --for=condition=ready=true --timeout=30s')
    await ok('wait pod/slow --for=jsonpath={.status.phase}=Running --timeout=30s')
    await ok('wait nodes --all --for=condition=Ready --timeout=30s')
    if (minor >= 31) {
      const created = ok('wait configmap/late --for=create --timeout=30s')
      await ok('create configmap late --from-literal=a=b')
      expect(await created).toContain('configmap/late condition met')
      await ok('wait configmap/late --for=jsonpath={.data.a} --timeout=30s')
    }
    const deleted = ok('wait pod/slow --for=delete --timeout=30s')
    await ok('delete pod slow --wait=false')
    expect(await deleted).toMatch(/condition met|^$/)
    expect(await fails('wait pod/slow --for=condition=Ready --timeout=5s')).toContain('not found')
  })
})
