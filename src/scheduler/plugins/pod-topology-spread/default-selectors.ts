import type { Pod } from '../../../api/generated/core-v1.ts'
import {
  compileLabelSelector,
  EVERYTHING,
  type LabelSelector,
  type Selector,
  selectorFromSet,
} from '../../../api/meta/label-selector.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'

export interface SelectingService extends KubernetesObject {
  readonly spec?: { readonly selector?: Record<string, string> }
}

export interface SelectingWorkload extends KubernetesObject {
  readonly spec?: { readonly selector?: LabelSelector }
}

/** Which pods belong together although they do not say so: those of a service, and those of a controller. */
export class DefaultSelectors {
  /** namespace -> `key=value` of one label -> services that ask for it. */
  readonly #services = new Map<string, Map<string, Set<SelectingService>>>()
  readonly #workloads: (kind: string, key: string) => SelectingWorkload | undefined
  readonly #texts = new WeakMap<object, string>()
  /** Changes when any answer may have. */
  version = 0

  constructor(workloads: (kind: string, key: string) => SelectingWorkload | undefined) {
    this.#workloads = workloads
  }

  serviceChanged(old: SelectingService | undefined, current: SelectingService | undefined): void {
    if (old) this.#entry(old)?.delete(old)
    if (current) this.#entry(current)?.add(current)
    this.version++
  }

  /** Everything, if the pod belongs to nothing. */
  selectorOf(pod: Pod): Selector {
    const set: Record<string, string> = Object.assign({}, ...this.#serviceSelectors(pod))
    const selector = this.#workloadSelector(pod)
    if (ownerOf(pod)?.kind === 'ReplicationController')
      return fromSet({ ...set, ...(selector as Record<string, string>) })
    if (!selector) return fromSet(set)
    return compileLabelSelector({ ...selector, matchLabels: { ...selector.matchLabels, ...set } })
  }

  /** A text that is another one for pods of another selector. */
  selectorText(pod: Pod): string {
    let text = ''
    for (const selector of this.#serviceSelectors(pod)) text += this.#textOf(selector)
    const workload = this.#workloadSelector(pod)
    return workload ? `${text}|${ownerOf(pod)!.kind}${this.#textOf(workload)}` : text
  }

  /** Thousands of pods share a few selectors. */
  #textOf(selector: object): string {
    const known = this.#texts.get(selector)
    if (known !== undefined) return known
    const text = JSON.stringify(selector)
    this.#texts.set(selector, text)
    return text
  }

  #workloadSelector(pod: Pod): LabelSelector | undefined {
    const owner = ownerOf(pod)
    return owner && this.#workloads(owner.kind, `${pod.metadata.namespace}/${owner.name}`)?.spec?.selector
  }

  #serviceSelectors({ metadata: { namespace = '', labels } }: Pod): Record<string, string>[] {
    const byLabel = this.#services.get(namespace)
    const selectors: Record<string, string>[] = []
    if (!byLabel || !labels) return selectors
    for (const key in labels) {
      for (const service of byLabel.get(`${key}=${labels[key]}`) ?? []) {
        const wanted = service.spec!.selector!
        if (Object.keys(wanted).every((name) => labels[name] === wanted[name])) selectors.push(wanted)
      }
    }
    return selectors
  }

  #entry(service: SelectingService): Set<SelectingService> | undefined {
    const { namespace = '' } = service.metadata
    const [first] = Object.entries(service.spec?.selector ?? {})
    if (!first) return undefined
    const byLabel = this.#services.get(namespace) ?? new Map<string, Set<SelectingService>>()
    this.#services.set(namespace, byLabel)
    const label = first.join('=')
    const services = byLabel.get(label) ?? new Set()
    byLabel.set(label, services)
    return services
  }
}

const ownerOf = ({ metadata }: Pod) => metadata.ownerReferences?.find((reference) => reference.controller)

const fromSet = (set: Record<string, string>): Selector =>
  Object.keys(set).length === 0 ? EVERYTHING : selectorFromSet(set)
