import { describe, expect, test } from 'vitest'
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '../../../generated/core-v1.ts'
import type { StatusSubresource } from '../../../kind.ts'
import { podKind } from './kind.ts'
import { createdPod, texts, withContainer } from './pod.fixture.ts'
import { validatePodUpdate } from './update-validation.ts'

const FORBIDDEN =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n'
const TOLERATION = { key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute' }

describe('an existing pod', () => {
  test.each<[what: string, before: Partial<PodSpec>, after: Partial<PodSpec>, ...errors: string[]]>([
    ['stays as it is', {}, {}],
    ['gets another image', {}, withContainer({ image: 'nginx:1.28', imagePullPolicy: 'IfNotPresent' })],
    ['gets a deadline', {}, { activeDeadlineSeconds: 5 }],
    ['gets a shorter deadline', { activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: 4 }],
    [
      'gets a longer deadline',
      { activeDeadlineSeconds: 5 },
      { activeDeadlineSeconds: 6 },
      'spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value',
    ],
    [
      'loses its deadline',
      { activeDeadlineSeconds: 5 },
      {},
      'spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value',
    ],
    [
      'tolerates more',
      { tolerations: [TOLERATION] },
      { tolerations: [{ operator: 'Exists' }, { ...TOLERATION, tolerationSeconds: 3 }] },
    ],
    [
      'tolerates less',
      { tolerations: [TOLERATION] },
      { tolerations: [] },
      'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
    ],
    [
      'loses a container',
      {
        containers: [
          { name: 'a', image: 'i' },
          { name: 'b', image: 'i' },
        ],
      },
      { containers: [{ name: 'a', image: 'i' }] },
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ],
    ['moves', { nodeName: 'a' }, { nodeName: 'b' }, `${FORBIDDEN}- nodeName: "a"\n+ nodeName: "b"\n`],
    [
      'gets a command',
      {},
      withContainer({ command: ['x'] }),
      `${FORBIDDEN}  containers:\n    0:\n+     command: ["x"]\n`,
    ],
    ['with negative grace gets 1', { terminationGracePeriodSeconds: -5 }, { terminationGracePeriodSeconds: 1 }],
    ['loses gates', { schedulingGates: [{ name: 'a' }, { name: 'b' }] }, { schedulingGates: [{ name: 'b' }] }],
    [
      'gets a gate',
      { schedulingGates: [{ name: 'a' }] },
      { schedulingGates: [{ name: 'a' }, { name: 'b' }] },
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'",
    ],
    [
      'with gates gets a narrower node selector',
      { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } },
      { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b', c: 'd' } },
    ],
    [
      'with gates gets another node selector',
      { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } },
      { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'c' } },
      'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
    ['without gates gets a node selector', {}, { nodeSelector: { a: 'b' } }, `${FORBIDDEN}+ nodeSelector: {"a":"b"}\n`],
  ])('%s', (_what, before, after, ...errors) => {
    expect(texts(validatePodUpdate(createdPod(after), createdPod(before)))).toEqual(errors)
  })

  test('keeps its mirror annotation', () => {
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
    expect(texts(validatePodUpdate(createdPod(), createdPod({}, mirror)))).toEqual([
      'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation',
    ])
  })
})

/** Through a door as the registry goes. */
function through(name: string, sent: Pod, old: Pod): { written: Pod; errors: string[] } {
  const door = podKind.subresources[name] as StatusSubresource<Pod>
  const written = structuredClone(sent)
  door.prepareUpdate(written, old)
  return { written, errors: texts(door.validateUpdate?.(written, old) ?? []) }
}

describe('status', () => {
  const old = createdPod({ restartPolicy: 'Never', nodeName: 'n1' })
  const ended: ContainerStatus = {
    name: 'app',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 0 } },
  }
  test.each<[what: string, before: Partial<PodStatus>, after: Partial<PodStatus>, ...errors: string[]]>([
    ['running', {}, { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }], podIP: '10.0.0.1' }],
    [
      'condition',
      {},
      { conditions: [{ type: 'bad type', status: 'True' }] },
      "status.conditions[0].Type: Invalid value: \"bad type\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
    ['other class', {}, { qosClass: 'Guaranteed' }, 'status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    [
      'addresses of one family',
      {},
      { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
      'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
    [
      'container comes back',
      { containerStatuses: [ended] },
      { containerStatuses: [{ ...ended, state: { running: {} } }] },
      'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
    ],
    [
      'nominated though bound',
      {},
      { nominatedNodeName: 'n2' },
      'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
    ],
  ])('%s', (_what, before, after, ...errors) => {
    const from = { ...old, status: { ...old.status, ...before } }
    expect(through('status', { ...old, status: { ...from.status, ...after } }, from).errors).toEqual(errors)
  })

  test('keeps the spec, and what the server found out', () => {
    const { written } = through(
      'status',
      { ...old, spec: { containers: [] }, status: { phase: 'Running', podIP: '10.0.0.1' } },
      old,
    )
    expect(written.spec).toEqual(old.spec)
    expect(written.status).toEqual({
      phase: 'Running',
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }],
      qosClass: 'BestEffort',
    })
  })
})

describe('ephemeral containers', () => {
  const debug = { name: 'debug', image: 'busybox:1', imagePullPolicy: 'Always', terminationMessagePolicy: 'File' }
  const old = createdPod({ hostname: 'a' })
  test.each<[what: string, before: object[], after: object[], ...errors: string[]]>([
    ['added', [], [debug]],
    ['for a container', [], [{ ...debug, targetContainerName: 'app' }]],
    [
      'for no container',
      [],
      [{ ...debug, targetContainerName: 'x' }],
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
    ],
    [
      'with a port',
      [],
      [{ ...debug, ports: [{ containerPort: 1, protocol: 'TCP' }] }],
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
    ],
    [
      'with the name of another',
      [],
      [{ ...debug, name: 'app' }],
      'spec.ephemeralContainers[0].name: Duplicate value: "app"',
    ],
    [
      'removed',
      [debug],
      [],
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n',
    ],
    [
      'changed',
      [debug],
      [{ ...debug, image: 'x' }],
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be changed\n- image: "busybox:1"\n+ image: "x"\n',
    ],
  ])('%s', (_what, before, after, ...errors) => {
    const from = {
      ...old,
      metadata: { ...old.metadata, generation: 2 },
      spec: { ...old.spec!, ephemeralContainers: before },
    } as Pod
    const sent = { ...from, spec: { ...from.spec, hostname: 'b', ephemeralContainers: after } } as Pod
    const { written, errors: found } = through('ephemeralcontainers', sent, from)
    expect(found).toEqual(errors)
    expect(written.spec?.hostname).toBe('a')
    expect(written.metadata.generation).toBe(3)
  })
})

describe('resize', () => {
  const old = createdPod(withContainer({ resources: { requests: { cpu: '1', memory: '1Gi' } } }))
  test.each<[what: string, requests: Record<string, string>, ...errors: string[]]>([
    ['more', { cpu: '2', memory: '1Gi' }],
    [
      'one removed',
      { cpu: '2' },
      'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
    ],
    [
      'others',
      { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' },
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
  ])('%s', (_what, requests, ...errors) => {
    const sent = structuredClone(old)
    Object.assign(sent.spec!.containers[0]!, { image: 'other', resources: { requests } })
    const { written, errors: found } = through('resize', sent, old)
    expect(found).toEqual(errors)
    expect(written.spec?.containers[0]?.image).toBe('nginx:1.27')
    expect(written.metadata.generation).toBe(2)
  })

  test('may not change the class of the pod', () => {
    const sent = structuredClone(old)
    sent.spec!.containers[0]!.resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } }
    expect(through('resize', sent, old).errors).toEqual([
      'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    ])
  })
})
