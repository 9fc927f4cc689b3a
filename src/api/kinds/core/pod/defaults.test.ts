import { describe, expect, test } from 'vitest'
import type { Pod, PodSpec } from '../../../generated/core-v1.ts'
import { podDefaults, podTemplateDefaults } from './defaults.ts'
import { defaultPullPolicy } from './image.ts'
import { samplePod, withContainer } from './pod.fixture.ts'

const defaulted = (spec: Partial<PodSpec> = {}): Pod => {
  const pod = samplePod(spec)
  podDefaults(pod)
  return pod
}

test('a pod as the documentation shows it', () => {
  expect(defaulted().spec).toEqual({
    containers: [
      {
        name: 'app',
        image: 'nginx:1.27',
        imagePullPolicy: 'IfNotPresent',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  })
})

describe('pull policy follows the tag', () => {
  test.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['nginx:1.27', 'IfNotPresent'],
    ['registry:5000/nginx', 'Always'],
    ['registry:5000/nginx:1', 'IfNotPresent'],
    ['nginx@sha256:0123', 'IfNotPresent'],
    ['nginx:latest@sha256:0123', 'Always'],
    ['Not An Image', 'IfNotPresent'],
    ['', 'IfNotPresent'],
  ])('%s -> %s', (image, policy) => {
    expect(defaultPullPolicy(image)).toBe(policy)
  })
})

describe('defaults', () => {
  test.each<[what: string, spec: Partial<PodSpec>, path: string, value: unknown]>([
    [
      'requests follow limits',
      withContainer({ resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } } }),
      'containers.0.resources.requests',
      { cpu: '500m', memory: '1Gi' },
    ],
    [
      'quantities are canonical',
      withContainer({ resources: { requests: { cpu: 0.5, memory: '1024Mi' } } }),
      'containers.0.resources.requests',
      { cpu: '500m', memory: '1Gi' },
    ],
    [
      'port protocol',
      withContainer({ ports: [{ containerPort: 80 }] }),
      'containers.0.ports.0',
      { containerPort: 80, protocol: 'TCP' },
    ],
    [
      'host port on the host network',
      { hostNetwork: true, ...withContainer({ ports: [{ containerPort: 80 }] }) },
      'containers.0.ports.0.hostPort',
      80,
    ],
    [
      'probe',
      withContainer({ livenessProbe: { httpGet: { port: 80 } } }),
      'containers.0.livenessProbe',
      {
        httpGet: { port: 80, path: '/', scheme: 'HTTP' },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    ],
    [
      'grpc probe',
      withContainer({ readinessProbe: { grpc: { port: 80 } } }),
      'containers.0.readinessProbe.grpc',
      { port: 80, service: '' },
    ],
    [
      'hook',
      withContainer({ lifecycle: { preStop: { httpGet: { port: 'http' } } } }),
      'containers.0.lifecycle.preStop.httpGet',
      { port: 'http', path: '/', scheme: 'HTTP' },
    ],
    [
      'field of a variable',
      withContainer({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      'containers.0.env.0.valueFrom.fieldRef.apiVersion',
      'v1',
    ],
    ['a volume of no kind', { volumes: [{ name: 'v' }] }, 'volumes.0', { name: 'v', emptyDir: {} }],
    ['secret', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'volumes.0.secret.defaultMode', 420],
    ['config map', { volumes: [{ name: 'v', configMap: { name: 's' } }] }, 'volumes.0.configMap.defaultMode', 420],
    ['host path', { volumes: [{ name: 'v', hostPath: { path: '/x' } }] }, 'volumes.0.hostPath.type', ''],
    [
      'downward',
      { volumes: [{ name: 'v', downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'metadata.name' } }] } }] },
      'volumes.0.downwardAPI',
      { defaultMode: 420, items: [{ path: 'x', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }] },
    ],
    [
      'token',
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'volumes.0.projected',
      { defaultMode: 420, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] },
    ],
    [
      'ephemeral claim',
      { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
      'volumes.0.ephemeral.volumeClaimTemplate.spec.volumeMode',
      'Filesystem',
    ],
    [
      'image volume',
      { volumes: [{ name: 'v', image: { reference: 'data:1' } }] },
      'volumes.0.image.pullPolicy',
      'IfNotPresent',
    ],
    [
      'old volume types',
      { volumes: [{ name: 'v', rbd: { monitors: ['m'], image: 'i' } }] },
      'volumes.0.rbd',
      { monitors: ['m'], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
    ],
    ['old name of the service account', { serviceAccount: 'me' }, 'serviceAccountName', 'me'],
    [
      'new name of the service account wins',
      { serviceAccount: 'old', serviceAccountName: 'new' },
      'serviceAccount',
      'new',
    ],
    [
      'requests of the pod',
      {
        resources: { limits: { cpu: '2', memory: '1Gi' } },
        ...withContainer({ resources: { requests: { cpu: '300m' } } }),
      },
      'resources.requests',
      { cpu: '300m', memory: '1Gi' },
    ],
    [
      'init containers run one by one beside sidecars',
      {
        resources: { limits: { cpu: '9' } },
        initContainers: [
          { name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } },
          { name: 'i', resources: { requests: { cpu: '4' } } },
        ],
        ...withContainer({ resources: { requests: { cpu: '2' } } }),
      },
      'resources.requests',
      { cpu: '5' },
    ],
  ])('%s', (_what, spec, path, value) => {
    const found = path
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], defaulted(spec).spec)
    expect(found).toEqual(value)
  })

  test('fields of features that are off', () => {
    const { spec } = defaulted({
      schedulingGroup: { podGroupName: 'g' },
      volumes: [
        { name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'x' } }, { secret: { name: 's' } }] } },
      ],
      ...withContainer({ lifecycle: { stopSignal: 'SIGINT' } }),
    })
    expect(spec).not.toHaveProperty('schedulingGroup')
    expect(spec?.volumes?.[0]?.projected?.sources).toEqual([{}, { secret: { name: 's' } }])
    expect(spec?.containers[0]?.lifecycle).toEqual({})
  })

  test('no spec at all', () => {
    const pod: Pod = { metadata: {} }
    podDefaults(pod)
    expect(pod.spec).toMatchObject({ containers: [], restartPolicy: 'Always' })
  })
})

test('a template leaves to the pod what only a pod has', () => {
  const owner = {
    template: {
      spec: {
        hostNetwork: true,
        containers: [{ name: 'a', ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } }],
      },
    },
  }
  podTemplateDefaults(owner)
  expect(owner.template.spec).not.toHaveProperty('enableServiceLinks')
  expect(owner.template.spec.containers[0]!.ports[0]).not.toHaveProperty('hostPort')
  expect(owner.template.spec.containers[0]!.resources).not.toHaveProperty('requests')
  expect(owner.template).toHaveProperty('metadata', {})
})
