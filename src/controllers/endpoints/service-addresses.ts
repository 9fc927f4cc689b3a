import type { EndpointSubset, Pod, Service } from '../../api/generated/core-v1.ts'
import { TargetPorts } from '../endpointslice/pod-endpoint.ts'
import { selects } from '../endpointslice/service-pods.ts'
import { type PodAddress, podAddress, type Subsets, subsetsOf } from './subsets.ts'

/**
 * The addresses of one Service by pod uid. A pod keeps its place, so that one pod's change moves no other's and an
 * object read back after a restart is equal to the one that would be written.
 */
export class ServiceAddresses {
  readonly serviceVersion: string | undefined
  /** No write before this time. */
  restUntil = 0
  readonly #service: Service
  readonly #ports: TargetPorts
  readonly #addresses = new Map<string, PodAddress>()
  #touched = new Map<string, string>()

  constructor(service: Service, pods: readonly Pod[], current: readonly EndpointSubset[]) {
    this.serviceVersion = service.metadata.resourceVersion
    this.#service = service
    this.#ports = new TargetPorts(service)
    const byUid = new Map(pods.map((pod) => [pod.metadata.uid ?? '', pod]))
    for (const uid of uidsOf(current)) {
      const pod = byUid.get(uid)
      if (pod) this.#set(uid, pod)
      byUid.delete(uid)
    }
    const rest = [...byUid.values()].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    for (const pod of rest) this.#set(pod.metadata.uid ?? '', pod)
  }

  get size(): number {
    return this.#addresses.size
  }

  touch(pod: Pod): void {
    this.#touched.set(pod.metadata.uid ?? '', `${pod.metadata.namespace}/${pod.metadata.name}`)
  }

  /** Looks again at the pods that changed. */
  update(get: (key: string) => Pod | undefined): void {
    for (const [uid, key] of this.#touched) {
      const pod = get(key)
      this.#set(uid, pod?.metadata.uid === uid && selects(this.#service, pod) ? pod : undefined)
    }
    this.#touched = new Map()
  }

  subsets(): Subsets {
    return subsetsOf(this.#addresses.values())
  }

  #set(uid: string, pod: Pod | undefined): void {
    const address = pod && podAddress(this.#service, this.#ports, pod)
    if (address) this.#addresses.set(uid, address)
    else this.#addresses.delete(uid)
  }
}

function* uidsOf(subsets: readonly EndpointSubset[]): Generator<string> {
  for (const { addresses = [], notReadyAddresses = [] } of subsets) {
    for (const { targetRef } of addresses) if (targetRef?.uid) yield targetRef.uid
    for (const { targetRef } of notReadyAddresses) if (targetRef?.uid) yield targetRef.uid
  }
}
