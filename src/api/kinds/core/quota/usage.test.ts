import { describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim, Pod, Service } from '../../../generated/core-v1.ts'
import { formatQuantity } from '../../../meta/quantity.ts'
import { matchesScopes } from './scopes.ts'
import { measuredBy, usageOf } from './usage.ts'

const PODS = { group: '', plural: 'pods' }
const container = { name: 'c', image: 'i' }
const shown = (...parameters: Parameters<typeof usageOf>) =>
  Object.fromEntries([...usageOf(...parameters)].map(([name, amount]) => [name, formatQuantity(amount)]))

describe('measuredBy', () => {
  it.each([
    ['count/deployments.apps', 'apps', 'deployments'],
    ['count/widgets.a.example.com', 'a.example.com', 'widgets'],
    ['count/pods', '', 'pods'],
    ['configmaps', '', 'configmaps'],
    ['services.nodeports', '', 'services'],
    ['requests.storage', '', 'persistentvolumeclaims'],
    ['gold.storageclass.storage.k8s.io/requests.storage', '', 'persistentvolumeclaims'],
    ['requests.cpu', '', 'pods'],
    ['requests.example.com/gpu', '', 'pods'],
  ])('%s', (name, group, plural) => expect(measuredBy(name)).toEqual({ group, plural }))
})

describe('usageOf a pod', () => {
  const spec: Pod['spec'] = {
    containers: [
      {
        ...container,
        resources: {
          requests: { cpu: '100m', memory: '1Gi', 'example.com/gpu': '2' },
          limits: { cpu: '1', 'example.com/gpu': '2' },
        },
      },
      { ...container, name: 'd', resources: { requests: { cpu: '200m' } } },
    ],
    overhead: { cpu: '50m' },
  }
  const full = {
    'count/pods': '1',
    pods: '1',
    cpu: '350m',
    'requests.cpu': '350m',
    memory: '1Gi',
    'requests.memory': '1Gi',
    'requests.example.com/gpu': '2',
    'limits.cpu': '1050m',
  }
  const ending = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 }
  const time = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second)
  it.each([
    ['running', { metadata: {}, spec }, 0, full],
    ['finished', { metadata: {}, spec, status: { phase: 'Succeeded' } }, 0, { 'count/pods': '1' }],
    ['ending', { metadata: ending, spec }, time(30), full],
    ['long past its end', { metadata: ending, spec }, time(61), { 'count/pods': '1' }],
    [
      'with resources of its own',
      { metadata: {}, spec: { containers: [container], resources: { requests: { cpu: '3' } } } },
      0,
      { 'count/pods': '1', pods: '1', cpu: '3', 'requests.cpu': '3' },
    ],
  ] as [string, Pod, number, object][])('%s', (_, pod, now, usage) => expect(shown(PODS, pod, now)).toEqual(usage))
})

describe('usageOf others', () => {
  const service = (spec: Service['spec']): Service => ({ metadata: {}, spec })
  const ports = [{ port: 1 }, { port: 2, nodePort: 30000 }]
  const claim: PersistentVolumeClaim = {
    metadata: {},
    spec: { storageClassName: 'gold', resources: { requests: { storage: '1Gi' } } },
    status: { allocatedResources: { storage: '2Gi' } },
  }
  it.each([
    ['services', service({ ports }), { 'count/services': '1', services: '1' }],
    [
      'services',
      service({ type: 'NodePort', ports }),
      { 'count/services': '1', services: '1', 'services.nodeports': '2' },
    ],
    [
      'services',
      service({ type: 'LoadBalancer', ports, allocateLoadBalancerNodePorts: false }),
      { 'count/services': '1', services: '1', 'services.nodeports': '1', 'services.loadbalancers': '1' },
    ],
    [
      'persistentvolumeclaims',
      claim,
      {
        'count/persistentvolumeclaims': '1',
        persistentvolumeclaims: '1',
        'requests.storage': '2Gi',
        'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
        'gold.storageclass.storage.k8s.io/requests.storage': '2Gi',
      },
    ],
    ['configmaps', { metadata: {} }, { 'count/configmaps': '1', configmaps: '1' }],
    ['endpoints', { metadata: {} }, { 'count/endpoints': '1' }],
  ])('%s %#', (plural, object, usage) => expect(shown({ group: '', plural }, object, 0)).toEqual(usage))
})

describe('matchesScopes', () => {
  const selector = (operator: string, ...values: string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator, values }] },
  })
  const pod = (spec: Partial<Pod['spec']>): Pod => ({ metadata: {}, spec: { containers: [container], ...spec } })
  const far = { topologyKey: 'z', namespaces: ['other'] }
  it.each([
    ['no scope', {}, pod({}), true],
    ['Terminating', { scopes: ['Terminating'] }, pod({ activeDeadlineSeconds: 5 }), true],
    ['NotTerminating', { scopes: ['NotTerminating'] }, pod({ activeDeadlineSeconds: 5 }), false],
    ['BestEffort', { scopes: ['BestEffort'] }, pod({}), true],
    ['both must match', { scopes: ['BestEffort', 'Terminating'] }, pod({}), false],
    ['class in', selector('In', 'high'), pod({ priorityClassName: 'high' }), true],
    ['class not in', selector('NotIn', 'high'), pod({ priorityClassName: 'high' }), false],
    ['no class, not in', selector('NotIn', 'high'), pod({}), true],
    ['class exists', selector('Exists'), pod({}), false],
    ['class does not exist', selector('DoesNotExist'), pod({}), true],
    [
      'affinity across namespaces',
      { scopes: ['CrossNamespacePodAffinity'] },
      pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [far] } } }),
      true,
    ],
  ])('%s', (_, spec, object, matches) => expect(matchesScopes(spec, PODS, object)).toBe(matches))

  it('what has no scopes is not under a quota with scopes', () => {
    expect(matchesScopes({ scopes: ['BestEffort'] }, { group: '', plural: 'services' }, { metadata: {} })).toBe(false)
  })
})
