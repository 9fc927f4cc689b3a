import type { PersistentVolumeClaim, Pod, Service } from '../../../generated/core-v1.ts'
import type { KubernetesObject } from '../../../meta/object.ts'
import { compareQuantities, type Quantity, quantityOf } from '../../../meta/quantity.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { quantityIn } from '../resource-list.ts'
import { podUsage } from './pod-usage.ts'

/** What one object uses, by the names of quotas. */
export type Usage = Map<string, Quantity>

export interface MeasuredType {
  readonly group: string
  readonly plural: string
}

const PODS: MeasuredType = { group: '', plural: 'pods' }
const CLAIMS: MeasuredType = { group: '', plural: 'persistentvolumeclaims' }
const STORAGE_CLASS = '.storageclass.storage.k8s.io/'
const COUNTED = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas', 'services'])
const ONE = quantityOf(1)

/** Which objects a name in a quota is measured by. */
export function measuredBy(name: string): MeasuredType {
  if (name.startsWith('count/')) {
    const [plural = '', ...group] = name.slice('count/'.length).split('.')
    return { group: group.join('.'), plural }
  }
  if (COUNTED.has(name)) return { group: '', plural: name }
  if (name.startsWith('services.')) return { group: '', plural: 'services' }
  if (name === 'persistentvolumeclaims' || name === 'requests.storage' || name.includes(STORAGE_CLASS)) return CLAIMS
  return PODS
}

/** `now` in milliseconds: a pod past its grace period no longer counts. */
export function usageOf(type: MeasuredType, object: KubernetesObject, now: number): Usage {
  const usage: Usage = new Map([[`count/${type.plural}${type.group && `.${type.group}`}`, ONE]])
  if (type.group !== '') return usage
  if (type.plural === 'pods') podUsage(object as Pod, now, usage)
  else if (type.plural === 'services') serviceUsage(object as Service, usage)
  else if (type.plural === 'persistentvolumeclaims') claimUsage(object as PersistentVolumeClaim, usage)
  else if (COUNTED.has(type.plural)) usage.set(type.plural, ONE)
  return usage
}

function serviceUsage({ spec }: Service, usage: Usage): void {
  const ports = spec?.ports ?? []
  usage.set('services', ONE)
  if (spec?.type === 'NodePort') usage.set('services.nodeports', quantityOf(ports.length))
  if (spec?.type !== 'LoadBalancer') return
  const allocated =
    spec.allocateLoadBalancerNodePorts === false ? ports.filter((port) => (port.nodePort ?? 0) !== 0) : ports
  usage.set('services.nodeports', quantityOf(allocated.length))
  usage.set('services.loadbalancers', ONE)
}

function claimUsage({ metadata, spec, status }: PersistentVolumeClaim, usage: Usage): void {
  const asked = quantityIn(spec?.resources?.requests, 'storage')
  const allocated = quantityIn(status?.allocatedResources, 'storage')
  const storage = asked && allocated && compareQuantities(allocated, asked) > 0 ? allocated : asked
  const storageClass = metadata.annotations?.[ANNOTATION.betaStorageClass] ?? spec?.storageClassName ?? ''
  for (const prefix of storageClass === '' ? [''] : ['', storageClass + STORAGE_CLASS]) {
    usage.set(`${prefix}persistentvolumeclaims`, ONE)
    if (storage) usage.set(`${prefix}requests.storage`, storage)
  }
}
