import type { Pod, Service } from '../../api/generated/core-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { byNamespace, type Indexes, type Informer, objectKey } from '../../client/informer.ts'

/** Only these Services get endpoints made for them; the others' endpoints are their users' business. */
export function selectsPods(service: Service): boolean {
  return service.spec?.type !== 'ExternalName' && hasSelector(service)
}

export const hasSelector = (service: Service) => Object.keys(service.spec?.selector ?? {}).length > 0

export const isHeadless = (service: Service) => service.spec?.clusterIP === 'None'

export function selects(service: Service, pod: Pod): boolean {
  const labels = pod.metadata.labels ?? {}
  const selector = service.spec?.selector ?? {}
  for (const key in selector) if (labels[key] !== selector[key]) return false
  return true
}

export const isPodReady = (pod: Pod) => isConditionTrue(pod.status?.conditions, 'Ready')

/** The addresses of a pod; `podIPs` is `podIP` and more. */
export function podAddresses(pod: Pod): string[] {
  const addresses = (pod.status?.podIPs ?? []).map(({ ip }) => ip).filter((ip) => ip !== undefined && ip !== '')
  if (addresses.length > 0) return addresses
  return pod.status?.podIP ? [pod.status.podIP] : []
}

/** Whether a pod has anything to offer: it has an address and has not ended. */
export function isServing(pod: Pod, includeTerminating: boolean): boolean {
  const phase = pod.status?.phase
  if (phase === 'Succeeded' || phase === 'Failed') return false
  if (!includeTerminating && pod.metadata.deletionTimestamp !== undefined) return false
  return podAddresses(pod).length > 0
}

/** A StatefulSet's pods have names of their own below the name of the governing Service. */
export function hostnameFor(service: Service, pod: Pod): string | undefined {
  const { hostname, subdomain } = pod.spec ?? {}
  return hostname && subdomain === service.metadata.name ? hostname : undefined
}

/** Whether a change of a pod can change any endpoint. Most changes of a pod's status cannot. */
export function concernsEndpoints(old: Pod | undefined, current: Pod | undefined): boolean {
  if (!old || !current || old.metadata.uid !== current.metadata.uid) return true
  return (
    old.status?.phase !== current.status?.phase ||
    old.metadata.deletionTimestamp !== current.metadata.deletionTimestamp ||
    isPodReady(old) !== isPodReady(current) ||
    old.spec?.nodeName !== current.spec?.nodeName ||
    old.status?.podIP !== current.status?.podIP ||
    !deepEqual(old.status?.podIPs, current.status?.podIPs) ||
    !deepEqual(old.metadata.labels, current.metadata.labels)
  )
}

/**
 * A Service is found by one label of its selector, so that a pod meets only the Services it might belong to and not
 * all of its namespace.
 */
const BY_SELECTOR_LABEL = 'endpoints/selector-label'
const serviceIndexes: Indexes<Service> = {
  [BY_SELECTOR_LABEL]: (service) => {
    if (!selectsPods(service)) return []
    const [key, value] = Object.entries(service.spec!.selector!)[0]!
    return [labelValue(service.metadata.namespace, key, value)]
  },
}
const labelValue = (namespace = '', key: string, value: string) => `${namespace}/${key}=${value}`

const BY_NAMESPACE = 'namespace'

/** Which pods belong to which Services, found without looking at all of either. */
export class ServicePods {
  readonly #services: Informer<Service>
  readonly #pods: Informer<Pod>

  constructor(services: Informer<Service>, pods: Informer<Pod>) {
    this.#services = services
    this.#pods = pods
    services.addIndexes(serviceIndexes)
    pods.addIndexes({ [BY_NAMESPACE]: byNamespace })
  }

  /** Keys of the Services that select a pod. */
  *servicesOf(pod: Pod): Generator<string> {
    for (const [key, value] of Object.entries(pod.metadata.labels ?? {})) {
      const candidates = this.#services.byIndex(BY_SELECTOR_LABEL, labelValue(pod.metadata.namespace, key, value))
      for (const service of candidates) if (selects(service, pod)) yield objectKey(service)
    }
  }

  /** Keys of the Services that selected a pod or select it now. */
  servicesOfChange(old: Pod | undefined, current: Pod | undefined): Set<string> {
    const keys = new Set<string>()
    if (old) for (const key of this.servicesOf(old)) keys.add(key)
    if (current && current.metadata.labels !== old?.metadata.labels)
      for (const key of this.servicesOf(current)) keys.add(key)
    return keys
  }

  podsOf(service: Service): Pod[] {
    return this.#pods.byIndex(BY_NAMESPACE, service.metadata.namespace ?? '').filter((pod) => selects(service, pod))
  }
}
