import { describe, expect, it } from 'vitest'
import type {
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  ResourceQuotaSpec,
  Service,
} from '../../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { type Charged, verdictOf } from './charges.ts'

type Amounts = Record<string, string>

const quota = (hard: Amounts, used: Amounts, spec: ResourceQuotaSpec = {}): ResourceQuota => ({
  metadata: { name: 'q', namespace: 'n' },
  spec: { ...spec, hard },
  status: { hard, used },
})
const pods = { group: '', plural: 'pods' }
const claims = { group: '', plural: 'persistentvolumeclaims' }
const services = { group: '', plural: 'services' }
const container = (name: string, requests?: Amounts, limits?: Amounts) => ({
  name,
  image: 'i',
  ...((requests || limits) && { resources: { ...(requests && { requests }), ...(limits && { limits }) } }),
})
const pod = (spec: Partial<NonNullable<Pod['spec']>> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [container('c', { cpu: '100m' })], ...spec },
})
const claim = (storage: string, storageClassName?: string): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'n' },
  spec: { resources: { requests: { storage } }, ...(storageClassName && { storageClassName }) },
})
const service = (type: string, ports: number): Service => ({
  metadata: { name: 's', namespace: 'n' },
  spec: { type, ports: Array.from({ length: ports }, (_, i) => ({ port: i + 1 })) },
})
const charged = (
  type: Charged['type'],
  draft: KubernetesObject,
  old?: KubernetesObject,
  isStatus = false,
): Charged => ({
  type,
  draft,
  old,
  isStatus,
})
const verdict = (one: ResourceQuota, what: Charged) => {
  const result = verdictOf(one, what, 0)
  return result && ('refusal' in result ? result.refusal : result.used)
}

describe('verdictOf', () => {
  it.each<[why: string, one: ResourceQuota, what: Charged, expected: Amounts | string | undefined]>([
    ['room for one more', quota({ pods: '2' }, { pods: '1' }), charged(pods, pod()), { pods: '2' }],
    [
      'no room',
      quota({ pods: '2' }, { pods: '2' }),
      charged(pods, pod()),
      'exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    ],
    [
      'several at once, only those that fail are told',
      quota(
        { pods: '1', 'requests.cpu': '150m', 'count/pods': '5' },
        { pods: '1', 'requests.cpu': '100m', 'count/pods': '1' },
      ),
      charged(pods, pod()),
      'exceeded quota: q, requested: pods=1,requests.cpu=100m, used: pods=1,requests.cpu=100m, limited: pods=1,requests.cpu=150m',
    ],
    ['nothing of this kind is limited', quota({ services: '1' }, { services: '1' }), charged(pods, pod()), undefined],
    ['no status yet', { metadata: { name: 'q' }, spec: { hard: { pods: '0' } } }, charged(pods, pod()), undefined],
    [
      'not counted yet',
      quota({ pods: '1', cpu: '1' }, {}),
      charged(pods, pod()),
      'status unknown for quota: q, resources: cpu,pods',
    ],
    [
      'containers must say what is limited',
      quota({ 'limits.cpu': '1', memory: '1Gi' }, { 'limits.cpu': '0', memory: '0' }),
      charged(pods, pod({ initContainers: [container('a')] })),
      'failed quota: q: must specify limits.cpu for: a,c; memory for: a,c',
    ],
    [
      'unless the pod says it as a whole',
      quota({ 'requests.cpu': '1' }, { 'requests.cpu': '0' }),
      charged(pods, pod({ containers: [container('c')], resources: { requests: { cpu: '300m' } } })),
      { 'requests.cpu': '300m' },
    ],
    [
      'extended resources need not be named',
      quota({ 'requests.example.com/gpu': '1' }, { 'requests.example.com/gpu': '0' }),
      charged(pods, pod()),
      undefined,
    ],
    ['out of scope', quota({ pods: '0' }, { pods: '0' }, { scopes: ['Terminating'] }), charged(pods, pod()), undefined],
    [
      'comes into scope by an update',
      quota({ pods: '0' }, { pods: '0' }, { scopes: ['Terminating'] }),
      charged(pods, pod({ activeDeadlineSeconds: 1 }), pod()),
      'exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
    ],
    [
      'best effort',
      quota({ pods: '0' }, { pods: '0' }, { scopes: ['BestEffort'] }),
      charged(pods, pod({ containers: [container('c')] })),
      'exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
    ],
    [
      'a class by name',
      quota(
        { pods: '0' },
        { pods: '0' },
        {
          scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
        },
      ),
      charged(pods, pod({ priorityClassName: 'high' })),
      'exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
    ],
    [
      'a resize pays the difference',
      quota({ 'requests.cpu': '1' }, { 'requests.cpu': '900m' }),
      charged(pods, pod({ containers: [container('c', { cpu: '200m' })] }), pod()),
      { 'requests.cpu': '1' },
    ],
    [
      'a smaller pod pays nothing, even over quota',
      quota({ 'requests.cpu': '1' }, { 'requests.cpu': '2' }),
      charged(pods, pod({ containers: [container('c', { cpu: '50m' })] }), pod()),
      undefined,
    ],
    [
      'storage by class',
      quota(
        { 'gold.storageclass.storage.k8s.io/requests.storage': '2Gi', persistentvolumeclaims: '5' },
        { 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi', persistentvolumeclaims: '0' },
      ),
      charged(claims, claim('2Gi', 'gold')),
      'exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: gold.storageclass.storage.k8s.io/requests.storage=1Gi, limited: gold.storageclass.storage.k8s.io/requests.storage=2Gi',
    ],
    [
      'what a status tells is counted, not refused',
      quota({ 'requests.storage': '1Gi' }, { 'requests.storage': '1Gi' }),
      charged(
        claims,
        { ...claim('1Gi'), status: { allocatedResources: { storage: '2Gi' } } } as KubernetesObject,
        claim('1Gi'),
        true,
      ),
      { 'requests.storage': '2Gi' },
    ],
    [
      'a Service becomes a NodePort',
      quota({ 'services.nodeports': '1', services: '1' }, { 'services.nodeports': '0', services: '1' }),
      charged(services, service('NodePort', 2), service('ClusterIP', 2)),
      'exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1',
    ],
    [
      'objects of any group',
      quota({ 'count/widgets.example.com': '1' }, { 'count/widgets.example.com': '0' }),
      charged({ group: 'example.com', plural: 'widgets' }, { metadata: { name: 'w' } }),
      { 'count/widgets.example.com': '1' },
    ],
  ])('%s', (_, one, what, expected) => expect(verdict(one, what)).toEqual(expected))
})
