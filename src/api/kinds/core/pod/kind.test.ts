import { describe, expect, test } from 'vitest'
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '../../../generated/core-v1.ts'
import { podGracePeriod } from './grace-period.ts'
import { podKind } from './kind.ts'
import { createdPod, samplePod, withContainer } from './pod.fixture.ts'
import { podWarnings } from './warnings.ts'

const NOW = Date.parse('2026-01-01T01:00:00Z')
const status = (name: string, rest: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...rest,
})
const running = (name: string) => status(name, { ready: true, started: true, state: { running: {} } })
const waiting = (name: string, reason: string) => status(name, { state: { waiting: { reason } } })
const terminated = (name: string, rest: object) => status(name, { state: { terminated: { exitCode: 0, ...rest } } })
const restarted = (name: string, restartCount: number) =>
  status(name, {
    ...running(name),
    restartCount,
    lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:55:00Z' } },
  })
const two: Partial<PodSpec> = { containers: [{ name: 'a' }, { name: 'b' }] }
const init: Partial<PodSpec> = { initContainers: [{ name: 'i' }, { name: 'j' }], containers: [{ name: 'a' }] }
const sidecar: Partial<PodSpec> = {
  initContainers: [{ name: 's', restartPolicy: 'Always' }],
  containers: [{ name: 'a' }],
}

describe('kubectl get pods', () => {
  test.each<[cells: string, spec: Partial<PodSpec>, status: PodStatus, metadata?: object]>([
    ['web 0/1 Pending 0 60m', {}, { phase: 'Pending' }],
    [
      'web 0/1 SchedulingGated 0 60m',
      {},
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    ],
    ['web 2/2 Running 0 60m', two, { phase: 'Running', containerStatuses: [running('a'), running('b')] }],
    [
      'web 1/2 CrashLoopBackOff 0 60m',
      two,
      { phase: 'Running', containerStatuses: [waiting('a', 'CrashLoopBackOff'), running('b')] },
    ],
    ['web 1/1 Running 3 (5m ago) 60m', {}, { phase: 'Running', containerStatuses: [restarted('app', 3)] }],
    [
      'web 0/1 ContainerCreating 0 60m',
      {},
      { phase: 'Pending', containerStatuses: [waiting('app', 'ContainerCreating')] },
    ],
    [
      'web 0/1 Completed 0 60m',
      {},
      { phase: 'Succeeded', containerStatuses: [terminated('app', { reason: 'Completed' })] },
    ],
    [
      'web 0/1 Error 0 60m',
      {},
      { phase: 'Failed', containerStatuses: [terminated('app', { exitCode: 1, reason: 'Error' })] },
    ],
    ['web 0/1 ExitCode:3 0 60m', {}, { phase: 'Failed', containerStatuses: [terminated('app', { exitCode: 3 })] }],
    [
      'web 0/1 Signal:9 0 60m',
      {},
      { phase: 'Failed', containerStatuses: [terminated('app', { exitCode: 137, signal: 9 })] },
    ],
    [
      'web 1/2 NotReady 0 60m',
      two,
      { phase: 'Running', containerStatuses: [terminated('a', { reason: 'Completed' }), running('b')] },
    ],
    [
      'web 1/2 Running 0 60m',
      two,
      {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [terminated('a', { reason: 'Completed' }), running('b')],
      },
    ],
    ['web 0/1 Evicted 0 60m', {}, { phase: 'Failed', reason: 'Evicted' }],
    [
      'web 0/1 Init:0/2 0 60m',
      init,
      { phase: 'Pending', initContainerStatuses: [waiting('i', 'PodInitializing'), waiting('j', 'PodInitializing')] },
    ],
    [
      'web 0/1 Init:1/2 0 60m',
      init,
      { phase: 'Pending', initContainerStatuses: [terminated('i', {}), status('j', { state: { running: {} } })] },
    ],
    [
      'web 0/1 Init:Error 0 60m',
      init,
      { phase: 'Pending', initContainerStatuses: [terminated('i', { exitCode: 1, reason: 'Error' })] },
    ],
    [
      'web 0/1 Init:ImagePullBackOff 0 60m',
      init,
      { phase: 'Pending', initContainerStatuses: [waiting('i', 'ImagePullBackOff')] },
    ],
    [
      'web 2/2 Running 0 60m',
      sidecar,
      { phase: 'Running', initContainerStatuses: [running('s')], containerStatuses: [running('a')] },
    ],
    [
      'web 1/2 PodInitializing 0 60m',
      sidecar,
      { phase: 'Pending', initContainerStatuses: [running('s')], containerStatuses: [waiting('a', 'PodInitializing')] },
    ],
    [
      'web 1/1 Terminating 0 60m',
      {},
      { phase: 'Running', containerStatuses: [running('app')] },
      { deletionTimestamp: '2026-01-01T00:59:00Z' },
    ],
    [
      'web 0/1 Unknown 0 60m',
      {},
      { phase: 'Running', reason: 'NodeLost' },
      { deletionTimestamp: '2026-01-01T00:59:00Z' },
    ],
  ])('%s', (cells, spec, status, metadata = {}) => {
    const pod: Pod = { ...samplePod(spec, { creationTimestamp: '2026-01-01T00:00:00Z', ...metadata }), status }
    const shown = podKind.columns.filter((column) => column.priority === 0).map((column) => column.value(pod, NOW))
    expect(shown.join(' ')).toBe(cells)
  })

  test('wide', () => {
    const pod = {
      ...samplePod({ nodeName: 'n1', readinessGates: [{ conditionType: 'x' }] }),
      status: { podIPs: [{ ip: '10.0.0.1' }], conditions: [{ type: 'x', status: 'True' }] },
    }
    const shown = podKind.columns
      .filter((column) => column.priority === 1)
      .map((column) => `${column.name}=${column.value(pod, NOW)}`)
    expect(shown).toEqual(['IP=10.0.0.1', 'Node=n1', 'Nominated Node=<none>', 'Readiness Gates=1/1'])
  })
})

describe('a fresh pod', () => {
  const resources = (requests: object, limits: object) => withContainer({ resources: { requests, limits } as never })
  test.each<[qosClass: string, spec: Partial<PodSpec>]>([
    ['BestEffort', {}],
    ['BestEffort', resources({ 'ephemeral-storage': '1Gi' }, {})],
    ['Burstable', resources({ cpu: '1' }, {})],
    ['Burstable', resources({}, { cpu: '1' })],
    ['Burstable', resources({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '1Gi' })],
    ['Guaranteed', resources({}, { cpu: '1', memory: '1Gi' })],
    ['Guaranteed', resources({ cpu: '1000m' }, { cpu: '1', memory: '1Gi' })],
    ['Burstable', { ...resources({}, { cpu: '1', memory: '1Gi' }), initContainers: [{ name: 'i' }] }],
    ['Guaranteed', { resources: { limits: { cpu: '1', memory: '1Gi' } } }],
  ])('is %s', (qosClass, spec) => {
    expect(createdPod(spec).status).toEqual({ phase: 'Pending', qosClass })
  })

  test('has generation 1 and no status of its sender', () => {
    const pod = { ...samplePod(), status: { phase: 'Running', podIP: '1.2.3.4' } }
    podKind.defaults?.(pod)
    podKind.prepareCreate?.(pod)
    expect(pod.metadata.generation).toBe(1)
    expect(pod.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' })
  })

  test('with gates waits', () => {
    expect(createdPod({ schedulingGates: [{ name: 'a' }] }).status?.conditions?.[0]).toMatchObject({
      type: 'PodScheduled',
      status: 'False',
      reason: 'SchedulingGated',
    })
  })
})

describe('grace period', () => {
  test.each<[what: string, seconds: number, spec: Partial<PodSpec>, phase: string, requested?: number]>([
    ['default', 30, { nodeName: 'n' }, 'Running'],
    ['own', 5, { nodeName: 'n', terminationGracePeriodSeconds: 5 }, 'Running'],
    ['requested', 7, { nodeName: 'n' }, 'Running', 7],
    ['requested none', 0, { nodeName: 'n' }, 'Running', 0],
    ['negative', 1, { nodeName: 'n', terminationGracePeriodSeconds: -1 }, 'Running'],
    ['not scheduled', 0, {}, 'Pending'],
    ['finished', 0, { nodeName: 'n' }, 'Succeeded', 7],
  ])('%s', (_what, seconds, spec, phase, requested) => {
    expect(podGracePeriod({ ...samplePod(spec), status: { phase } }, requested)).toBe(seconds)
  })
})

describe('warnings', () => {
  const env = (...values: string[]) => withContainer({ env: values.map((value) => ({ name: 'A', value })) })
  test.each<[what: string, spec: Partial<PodSpec>, ...warnings: string[]]>([
    ['none', {}],
    [
      'old node label',
      { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } },
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
    [
      'variable twice',
      env('1', '2'),
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ],
    ['variable that grows', env('1', '$(A)2')],
    [
      'old volume',
      { volumes: [{ name: 'v', gitRepo: { repository: 'x' } }] },
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
    ],
    [
      'a tenth of a byte',
      withContainer({ resources: { requests: { memory: '100m' } } }),
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
    [
      'port twice',
      withContainer({ ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
      'spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]',
    ],
    [
      'overlapping ports',
      withContainer({ ports: [{ containerPort: 80 }, { containerPort: 80, hostPort: 8 }] }),
      'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
    ],
    [
      'negative grace',
      { terminationGracePeriodSeconds: -1 },
      'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ],
    [
      'spread of nothing',
      { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }] },
      'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
    ],
  ])('%s', (_what, spec, ...warnings) => {
    const pod = createdPod(spec)
    expect(podWarnings(pod)).toEqual(warnings)
    expect(podWarnings(pod, pod)).toEqual([])
  })
})

test('selectable fields', () => {
  const pod = {
    ...createdPod({ nodeName: 'n1' }),
    status: { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
  }
  const read = Object.entries(podKind.selectableFields).map(([field, reader]) => `${field}=${reader(pod)}`)
  expect(read).toEqual([
    'spec.nodeName=n1',
    'spec.restartPolicy=Always',
    'spec.schedulerName=default-scheduler',
    'spec.serviceAccountName=',
    'spec.hostNetwork=false',
    'status.phase=Running',
    'status.podIP=10.0.0.1',
    'status.podIPs=10.0.0.1,fd00::1',
    'status.nominatedNodeName=',
  ])
})
