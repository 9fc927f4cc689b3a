import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Kind } from '../../api/kind.ts'
import { builtinKinds } from '../../api/kinds/all.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { type Client, createClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, startApiServer } from '../server.ts'

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const job = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
const selector = { matchLabels: { a: 'b' } }
const controller = { selector, template }
const ready = { type: 'Ready', status: 'True', reason: 'Because', lastTransitionTime: '2026-01-01T00:00:00Z' }
const described = { ...ready, message: 'it is' }

/** What a controller writes into the status of each kind, and what it may expect to read. */
const ROWS: Readonly<Record<string, { spec: object; status: object; expected?: object }>> = {
  services: {
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'a' }] } },
    expected: { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }, { hostname: 'a' }] } },
  },
  nodes: {
    spec: { podCIDR: '10.1.0.0/24' },
    status: { capacity: { cpu: '2000m' } },
    expected: { capacity: { cpu: '2' }, allocatable: { cpu: '2' } },
  },
  pods: { spec: template.spec, status: { phase: 'Running', conditions: [ready] } },
  namespaces: { spec: {}, status: { phase: 'Active', conditions: [ready] } },
  persistentvolumes: {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
    status: { phase: 'Available' },
  },
  persistentvolumeclaims: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Bound', capacity: { storage: '1024Mi' } },
    expected: { phase: 'Bound', capacity: { storage: '1Gi' } },
  },
  resourcequotas: {
    spec: { hard: { pods: '2' } },
    status: { hard: { pods: '2' }, used: { pods: '1' } },
  },
  replicationcontrollers: { spec: { selector: { a: 'b' }, template }, status: { replicas: 1 } },
  deployments: { spec: controller, status: { replicas: 1, updatedReplicas: 1, conditions: [ready] } },
  replicasets: { spec: controller, status: { replicas: 1, readyReplicas: 1 } },
  statefulsets: { spec: { ...controller, serviceName: 's' }, status: { replicas: 1, availableReplicas: 0 } },
  daemonsets: {
    spec: controller,
    status: { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 1 },
  },
  jobs: { spec: { template: job }, status: { active: 1, startTime: '2026-01-01T00:00:00Z' } },
  cronjobs: {
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template: job } } },
    status: { lastScheduleTime: '2026-01-01T00:00:00Z' },
  },
  horizontalpodautoscalers: {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    status: { currentReplicas: 1, desiredReplicas: 2 },
  },
  poddisruptionbudgets: {
    spec: { selector, minAvailable: 1 },
    status: { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1 },
  },
  ingresses: {
    spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  },
  servicecidrs: { spec: { cidrs: ['10.200.0.0/16'] }, status: { conditions: [described] } },
  volumeattachments: {
    spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } },
    status: { attached: true },
  },
  resourceclaims: {
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
    status: { allocation: { devices: { results: [{ request: 'r', driver: 'd', pool: 'p', device: 'one' }] } } },
  },
  flowschemas: {
    spec: { priorityLevelConfiguration: { name: 'catch-all' }, matchingPrecedence: 500 },
    status: { conditions: [{ ...described, type: 'Dangling' }] },
  },
  prioritylevelconfigurations: {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    status: { conditions: [described] },
  },
  apiservices: {
    spec: { group: 'g.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100 },
    status: { conditions: [{ ...described, type: 'Available' }] },
  },
  customresourcedefinitions: {
    spec: {
      group: 'g.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
    status: { storedVersions: ['v1'], conditions: [described] },
  },
  validatingadmissionpolicies: {
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
      },
      validations: [{ expression: 'true' }],
    },
    status: { observedGeneration: 1, typeChecking: {} },
  },
}

const NAMES: Readonly<Record<string, string>> = {
  apiservices: 'v1.g.example.com',
  customresourcedefinitions: 'things.g.example.com',
}
/** Requests of certificates have their own doors for their parts. */
const EXCEPT = new Set(['certificatesigningrequests'])

const withStatus = builtinKinds
  .filter((kind) => kind.subresources.status?.type === 'part' && !EXCEPT.has(kind.plural) && kind.version !== 'v1beta1')
  .filter((kind) => kind.plural !== 'horizontalpodautoscalers' || kind.version === 'v2')

describe('an update of a status in process', () => {
  let client: Client
  let server: ApiServer
  let store: AsyncDisposable
  beforeAll(async () => {
    const memory = await openMemoryStore()
    store = memory
    server = await startApiServer({
      store: memory,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      serviceCidrs: ['10.96.0.0/16'],
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    client = createClient(server.transport({ name: 'u', groups: ['system:masters'] }, 'test'))
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  const put = async (kind: Kind, change: (object: KubernetesObject) => object): Promise<KubernetesObject> => {
    const { spec } = ROWS[kind.plural]!
    const all = client.resource(kind)
    const objects = kind.namespaced ? all.namespace('default') : all
    const name = NAMES[kind.plural] ?? 'one'
    await objects.create({ metadata: { name }, spec } as never)
    for (;;) {
      const current = (await objects.get(name)) as KubernetesObject
      try {
        const after = (await objects.updateStatus(change(current) as never)) as KubernetesObject
        await objects.delete(name, { gracePeriodSeconds: 0 })
        return after
      } catch (error) {
        if ((error as { code?: number }).code !== 409) throw error
      }
    }
  }

  it.each(withStatus.map((kind) => [kind.plural, kind] as const))('of %s', async (plural, kind) => {
    const row = ROWS[plural]
    expect(row, `a row for ${plural}`).toBeDefined()
    const { status, expected = status } = row!
    let before: unknown
    const shared = await put(kind, (object) => {
      before = (object as { spec?: unknown }).spec
      return { ...object, status }
    })
    expect((shared as { status?: object }).status).toMatchObject(expected)
    expect((shared as { spec?: object }).spec).toEqual(before)
  })
})
