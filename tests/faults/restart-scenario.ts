import { daemonSetKind } from '../../src/api/kinds/apps/daemon-set/kind.ts'
import { deploymentKind } from '../../src/api/kinds/apps/deployment/kind.ts'
import { jobKind } from '../../src/api/kinds/batch/job/kind.ts'
import { namespaceKind } from '../../src/api/kinds/core/namespace.ts'
import type { KubernetesObject } from '../../src/api/meta/object.ts'
import type { ResourceType } from '../../src/client/transport.ts'
import type { Manifest } from '../../src/testing/apply.ts'

/** What users do at one moment. */
interface Step {
  readonly apply?: readonly Manifest[]
  readonly delete?: readonly {
    readonly type: ResourceType
    readonly name: string
    readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan'
  }[]
}

const object = (apiVersion: string, kind: string, name: string, spec?: object, namespace = 'default') =>
  ({ apiVersion, kind, metadata: { name, namespace }, ...(spec && { spec }) }) as KubernetesObject

const template = (app: string, image: string, more: object = {}) => ({
  metadata: {
    labels: { app },
    annotations: { 'simulated.sampan.dev/ready-after': '1s', 'simulated.sampan.dev/terminate-after': '1s' },
  },
  spec: { containers: [{ name: 'app', image }], ...more },
})
const workload = (kind: string, name: string, image: string, spec: object, namespace = 'default') =>
  object(
    'apps/v1',
    kind,
    name,
    { selector: { matchLabels: { app: name } }, template: template(name, image), ...spec },
    namespace,
  )
const job = (name: string, spec: object, annotations: object = {}) =>
  object('batch/v1', 'Job', name, {
    template: {
      metadata: { annotations },
      spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'job', command: ['sleep', '3'] }] },
    },
    ...spec,
  })

const web = (replicas: number, image: string) => workload('Deployment', 'web', image, { replicas })
const db = (replicas: number, image: string) =>
  workload('StatefulSet', 'db', image, {
    replicas,
    serviceName: 'db',
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  })
const agent = (image: string) => workload('DaemonSet', 'agent', image, {})
const budget = object('policy/v1', 'PodDisruptionBudget', 'web', {
  maxUnavailable: 1,
  selector: { matchLabels: { app: 'web' } },
})
const service = object('v1', 'Service', 'web', { selector: { app: 'web' }, ports: [{ port: 80 }] })
const quota = object('v1', 'ResourceQuota', 'all', { hard: { pods: '100', 'count/jobs.batch': '20' } })

/** Rollouts, jobs, stateful sets and deletions, all under way at the same time. */
export const SCENARIO: readonly Step[] = [
  {
    apply: [
      quota,
      service,
      budget,
      web(3, 'web:1'),
      db(2, 'db:1'),
      agent('agent:1'),
      workload('Deployment', 'left', 'left:1', { replicas: 2 }),
      workload('DaemonSet', 'passing', 'passing:1', {}),
      job('work', { completions: 3, parallelism: 2 }),
      job('parts', { completions: 3, parallelism: 2, completionMode: 'Indexed' }),
      job('doomed', { backoffLimit: 1 }, { 'simulated.sampan.dev/exit-code': '1' }),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } },
      workload('Deployment', 'inside', 'inside:1', { replicas: 1 }, 'gone'),
      object('v1', 'Service', 'inside', { selector: { app: 'inside' }, ports: [{ port: 80 }] }, 'gone'),
    ],
  },
  { apply: [web(3, 'web:2'), db(3, 'db:1'), agent('agent:2')] },
  {
    apply: [db(2, 'db:2'), job('short', { completions: 2, parallelism: 2, ttlSecondsAfterFinished: 10 })],
    delete: [
      { type: namespaceKind, name: 'gone', propagationPolicy: 'Background' },
      { type: deploymentKind, name: 'left', propagationPolicy: 'Orphan' },
      { type: jobKind, name: 'work', propagationPolicy: 'Background' },
    ],
  },
  {
    apply: [web(2, 'web:3')],
    delete: [{ type: daemonSetKind, name: 'passing', propagationPolicy: 'Foreground' }],
  },
]
