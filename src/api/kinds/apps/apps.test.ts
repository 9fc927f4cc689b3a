import { describe, expect, test } from 'vitest'
import type { Kind, ScaleSubresource, StatusSubresource } from '../../kind.ts'
import { isPercent } from '../../meta/names.ts'
import { bindingKind } from '../core/binding.ts'
import { podTemplateKind } from '../core/pod-template.ts'
import { replicationControllerKind } from '../core/replication-controller.ts'
import { podDisruptionBudgetKind } from '../policy/pod-disruption-budget.ts'
import { cells, created, sampleTemplate, texts, updated } from '../workload.fixture.ts'
import { controllerRevisionKind } from './controller-revision.ts'
import { daemonSetKind } from './daemon-set/kind.ts'
import { deploymentKind } from './deployment/kind.ts'
import { replicaSetKind } from './replica-set/kind.ts'
import { statefulSetKind } from './stateful-set/kind.ts'

type Row = [what: string, spec: object, ...errors: string[]]

const selector = { matchLabels: { app: 'web' } }
const base = () => ({ selector, template: sampleTemplate() })
const claim = (
  name: string,
  spec: object = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
) => ({ metadata: { name }, spec })
const NOW = Date.parse('2026-01-01T00:05:00Z')
const BORN = { creationTimestamp: '2026-01-01T00:00:00Z' }

/** Each kind has the same table form: a change to a valid spec, and what is said about it. */
const validates = (kind: Kind, rows: Row[]) =>
  test.each<Row>([['is fine', {}], ...rows])(`${kind.kind}: %s`, (_what, spec, ...errors) => {
    expect(texts(kind.validate?.(created(kind, { ...base(), ...spec })))).toEqual(errors)
  })

describe('defaults', () => {
  test('Deployment', () => {
    expect(created(deploymentKind, base())).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        replicas: 1,
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
        template: { spec: { restartPolicy: 'Always' } },
      },
      status: {},
    })
  })
  test('Deployment that is recreated', () => {
    expect(created(deploymentKind, { ...base(), strategy: { type: 'Recreate' } }).spec?.strategy).toEqual({
      type: 'Recreate',
    })
  })
  test('ReplicaSet', () => {
    expect(created(replicaSetKind, base())).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 0 } })
  })
  test('StatefulSet', () => {
    expect(created(statefulSetKind, { ...base(), volumeClaimTemplates: [claim('data')] })).toMatchObject({
      spec: {
        replicas: 1,
        podManagementPolicy: 'OrderedReady',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        revisionHistoryLimit: 10,
        volumeClaimTemplates: [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            spec: { volumeMode: 'Filesystem' },
            status: { phase: 'Pending' },
          },
        ],
      },
      status: { replicas: 0, availableReplicas: 0 },
    })
  })
  test('DaemonSet', () => {
    expect(created(daemonSetKind, base())).toMatchObject({
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
      spec: {
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
        revisionHistoryLimit: 10,
      },
      status: { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
    })
  })
  test('ReplicationController takes labels from its template', () => {
    expect(created(replicationControllerKind, { template: sampleTemplate() })).toMatchObject({
      metadata: { labels: { app: 'web' } },
      spec: { replicas: 1, selector: { app: 'web' } },
    })
  })
})

const workloadRows = (empty: string, inKind: string): Row[] => [
  ['empty selector', { selector: {} }, `spec.selector: Invalid value: {}: empty selector is invalid for ${empty}`],
  [
    'other labels',
    { selector: { matchLabels: { app: 'db' } } },
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    'operator',
    { selector: { matchExpressions: [{ key: 'a', operator: 'X' }] } },
    'spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator',
  ],
  [
    'restart policy',
    { template: sampleTemplate({ restartPolicy: 'Never' }) },
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  [
    'deadline',
    { template: sampleTemplate({ activeDeadlineSeconds: 1 }) },
    `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${inKind} is not Supported`,
  ],
  [
    'image',
    { template: sampleTemplate({ containers: [{ name: 'a' }] }) },
    'spec.template.spec.containers[0].image: Required value',
  ],
  [
    'ephemeral container',
    { template: sampleTemplate({ ephemeralContainers: [{ name: 'd', image: 'i' }] }) },
    'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
  ],
  [
    'minReadySeconds',
    { minReadySeconds: -1 },
    'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
  ],
]

describe('validation', () => {
  const update = (rollingUpdate: object) => ({ strategy: { type: 'RollingUpdate', rollingUpdate } })
  validates(deploymentKind, [
    ...workloadRows('deployment', 'ReplicaSet'),
    [
      'no selector',
      { selector: undefined },
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    ['replicas', { replicas: -1 }, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'strategy',
      { strategy: { type: 'X' } },
      'spec.strategy: Unsupported value: {"type":"X"}: supported values: "Recreate", "RollingUpdate"',
    ],
    [
      'recreate with an update',
      { strategy: { type: 'Recreate', rollingUpdate: {} } },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'no way to go on',
      update({ maxSurge: 0, maxUnavailable: '0%' }),
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ],
    [
      'more than all',
      update({ maxUnavailable: '101%' }),
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ],
    [
      'no percentage',
      update({ maxSurge: 'x' }),
      `spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": ${isPercent('x')[0]}`,
    ],
    [
      'deadline before ready',
      { minReadySeconds: 5, progressDeadlineSeconds: 5 },
      'spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds',
    ],
  ])
  validates(replicaSetKind, workloadRows('deployment', 'ReplicaSet'))
  const mounted = sampleTemplate({
    hostname: 'Not Checked',
    containers: [{ name: 'a', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/d' }] }],
  })
  validates(statefulSetKind, [
    ...workloadRows('statefulset', 'StatefulSet'),
    ['claims are volumes', { template: mounted, volumeClaimTemplates: [claim('data')] }],
    [
      'claim without size',
      { volumeClaimTemplates: [claim('data', { accessModes: ['X'] })] },
      'spec.volumeClaimTemplates[0].spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
    ],
    [
      'management',
      { podManagementPolicy: 'X' },
      "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'",
    ],
    [
      'strategy',
      { updateStrategy: { type: 'X' } },
      'spec.updateStrategy: Invalid value: {"type":"X"}: must be \'RollingUpdate\' or \'OnDelete\'',
    ],
    [
      'partition',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: -1 } } },
      'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'retention',
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'X' } },
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "X": supported values: "Retain", "Delete"',
    ],
  ])
  const surge = (rollingUpdate: object) => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } })
  validates(daemonSetKind, [
    ...workloadRows('daemonset', 'DaemonSet').filter(([what]) => what !== 'empty selector'),
    ['empty selector', { selector: {} }, 'spec.selector: Invalid value: {}: empty selector is invalid for daemonset'],
    [
      'strategy',
      { updateStrategy: { type: 'X' } },
      'spec.updateStrategy: Unsupported value: {"type":"X"}: supported values: "RollingUpdate", "OnDelete"',
    ],
    [
      'both',
      surge({ maxSurge: 1, maxUnavailable: 1 }),
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero',
    ],
    [
      'neither',
      surge({ maxSurge: 0, maxUnavailable: 0 }),
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
  ])

  test.each<Row>([
    ['is fine', {}],
    ['no template', { template: undefined, selector: { a: 'b' } }, 'spec.template: Required value'],
    [
      'other labels',
      { selector: { app: 'db' } },
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    ['no labels', { template: { spec: sampleTemplate().spec } }, 'spec.selector: Required value'],
  ])('ReplicationController: %s', (_what, spec, ...errors) => {
    const object = created(replicationControllerKind, { template: sampleTemplate(), ...spec })
    expect(texts(replicationControllerKind.validate?.(object))).toEqual(errors)
  })

  test.each<Row>([
    ['is fine', { minAvailable: 1, selector }],
    [
      'both',
      { minAvailable: 1, maxUnavailable: 1 },
      'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set',
    ],
    ['too many', { minAvailable: '101%' }, 'spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
    ['negative', { maxUnavailable: -1 }, 'spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0'],
    [
      'eviction policy',
      { unhealthyPodEvictionPolicy: 'X' },
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
  ])('PodDisruptionBudget: %s', (_what, spec, ...errors) => {
    expect(texts(podDisruptionBudgetKind.validate?.(created(podDisruptionBudgetKind, spec)))).toEqual(errors)
  })

  test('ControllerRevision', () => {
    const revision = (data: unknown, number = 1) => ({ metadata: { name: 'a' }, revision: number, data })
    expect(texts(controllerRevisionKind.validate?.(revision({})))).toEqual([])
    expect(texts(controllerRevisionKind.validate?.(revision(undefined, -1)))).toEqual([
      'revision: Invalid value: -1: must be greater than or equal to 0',
      'data: Required value: data is mandatory',
    ])
    expect(texts(controllerRevisionKind.validate?.(revision([])))).toEqual([
      'data: Required value: data must be a valid JSON object',
    ])
    expect(texts(controllerRevisionKind.validateUpdate?.(revision({ a: 1 }), revision({})))).toEqual([
      'data: Invalid value: {"a":1}: field is immutable',
    ])
  })

  test('PodTemplate', () => {
    const template = { metadata: { name: 'a' }, template: sampleTemplate({ containers: [] }) }
    podTemplateKind.defaults?.(template)
    expect(texts(podTemplateKind.validate?.(template))).toEqual(['template.spec.containers: Required value'])
  })

  test('Binding', () => {
    expect(texts(bindingKind.validate?.({ metadata: {}, target: { kind: 'Pod' } }))).toEqual([
      'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
      'target.name: Required value',
    ])
    expect(texts(bindingKind.validate?.({ metadata: {}, target: { kind: 'Node', name: 'n' } }))).toEqual([])
  })
})

describe('updates', () => {
  test.each<[Kind]>([[deploymentKind], [replicaSetKind], [daemonSetKind]])('the selector of a $kind stays', (kind) => {
    const old = created(kind, base())
    const other = updated(kind, old, { selector: { matchLabels: { app: 'x' } } })
    expect(texts(kind.validateUpdate?.(other, old))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable',
    ])
    expect(texts(kind.validateUpdate?.(updated(kind, old, { minReadySeconds: 3 }), old))).toEqual([])
  })

  test.each<[what: string, change: object, allowed: boolean]>([
    ['replicas', { replicas: 3 }, true],
    ['template', { template: sampleTemplate({ hostname: 'x' }) }, true],
    ['strategy', { updateStrategy: { type: 'OnDelete' } }, true],
    ['history', { revisionHistoryLimit: 3 }, true],
    ['service', { serviceName: 'x' }, false],
    ['claims', { volumeClaimTemplates: [claim('data')] }, false],
    ['management', { podManagementPolicy: 'Parallel' }, false],
  ])('StatefulSet: %s', (_what, change, allowed) => {
    const old = created(statefulSetKind, base())
    const errors = texts(statefulSetKind.validateUpdate?.(updated(statefulSetKind, old, change), old))
    expect(errors).toEqual(
      allowed
        ? []
        : [
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
          ],
    )
  })

  test.each<[what: string, kind: Kind, spec: object, metadata: object, generation: number]>([
    ['nothing', deploymentKind, {}, {}, 1],
    ['a label', deploymentKind, {}, { labels: { a: 'b' } }, 1],
    ['the spec', deploymentKind, { replicas: 2 }, {}, 2],
    ['an annotation of a Deployment', deploymentKind, {}, { annotations: { a: 'b' } }, 2],
    ['an annotation of a ReplicaSet', replicaSetKind, {}, { annotations: { a: 'b' } }, 1],
  ])('%s makes generation right', (_what, kind, spec, metadata, generation) => {
    const old = created(kind, base())
    expect(updated(kind, old, spec, metadata).metadata.generation).toBe(generation)
  })

  test('a DaemonSet counts its templates', () => {
    const count = (object: { metadata: { annotations?: Record<string, string> } }) =>
      object.metadata.annotations?.['deprecated.daemonset.template.generation']
    const old = created(daemonSetKind, base())
    expect(count(updated(daemonSetKind, old, { minReadySeconds: 1 }))).toBe('1')
    expect(count(updated(daemonSetKind, old, { template: sampleTemplate({ hostname: 'a' }) }))).toBe('2')
  })
})

describe('status', () => {
  test.each<[kind: Kind, status: object, ...errors: string[]]>([
    [deploymentKind, { replicas: 2, readyReplicas: 1, availableReplicas: 1 }],
    [
      deploymentKind,
      { replicas: 1, readyReplicas: 2 },
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    ],
    [
      replicaSetKind,
      { replicas: 2, availableReplicas: 1 },
      'status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas',
    ],
    [
      statefulSetKind,
      { replicas: -1 },
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
      'status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.currentReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas',
    ],
    [daemonSetKind, { numberReady: -1 }, 'status.numberReady: Invalid value: -1: must be greater than or equal to 0'],
    [
      podDisruptionBudgetKind,
      { currentHealthy: -1 },
      'status.currentHealthy: Invalid value: -1: must be greater than or equal to 0',
    ],
  ])('$kind %j', (kind, status, ...errors) => {
    const door = kind.subresources.status as StatusSubresource
    const old = created(kind, base())
    expect(texts(door.validateUpdate?.({ ...old, status } as never, old))).toEqual(errors)
  })
})

test.each<[Kind]>([[deploymentKind], [replicaSetKind], [statefulSetKind]])('$kind scales', (kind) => {
  const scale = kind.subresources.scale as ScaleSubresource
  const object = created(kind, base())
  scale.setReplicas(object, 5)
  expect([scale.replicas(object), scale.statusReplicas(object), scale.selector(object)]).toEqual([5, 0, 'app=web'])
})

describe('columns', () => {
  test.each<[kind: Kind, status: object, shown: unknown[], wide: unknown[]]>([
    [
      deploymentKind,
      { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
      ['web', '2/1', 3, 1, '5m'],
      ['app', 'nginx:1.27', 'app=web'],
    ],
    [replicaSetKind, { replicas: 2, readyReplicas: 1 }, ['web', 1, 2, 1, '5m'], ['app', 'nginx:1.27', 'app=web']],
    [statefulSetKind, { readyReplicas: 1 }, ['web', '1/1', '5m'], ['app', 'nginx:1.27']],
    [
      daemonSetKind,
      { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 1 },
      ['web', 3, 2, 1, 0, 0, '<none>', '5m'],
      ['app', 'nginx:1.27', 'app=web'],
    ],
    [podDisruptionBudgetKind, { disruptionsAllowed: 1 }, ['web', 'N/A', 'N/A', 1, '5m'], []],
  ])('$kind', (kind, status, shown, wide) => {
    const object = { ...created(kind, base(), BORN), status }
    expect(cells(kind, object, NOW)).toEqual(shown)
    expect(cells(kind, object, NOW, 1)).toEqual(wide)
  })

  test('ControllerRevision names its owner', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'u', controller: true }
    const revision = { metadata: { name: 'db-1', ...BORN, ownerReferences: [owner] }, revision: 3, data: {} }
    expect(cells(controllerRevisionKind, revision, NOW)).toEqual(['db-1', 'statefulset.apps/db', 3, '5m'])
  })
})

test('a template that will surprise warns', () => {
  const template = sampleTemplate({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } })
  const object = created(deploymentKind, { ...base(), template })
  expect(deploymentKind.warnings?.(object, undefined)).toEqual([
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
  ])
  expect(deploymentKind.warnings?.(object, object)).toEqual([])
})
