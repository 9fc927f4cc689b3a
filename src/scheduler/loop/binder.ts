import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { Profile } from '../framework/profile.ts'
import type { CycleContext } from '../plugin.ts'

/** The second loop: makes a decision true in the API. Many run at a time. */
export class Binder {
  readonly #pods: ResourceClient<Pod>
  readonly #byNamespace = new Map<string, ResourceClient<Pod>>()

  constructor(client: Client) {
    this.#pods = client.resource(podKind)
  }

  /** Throws if the pod could not be bound; everything reserved is given back then. */
  async bind(pod: Pod, nodeName: string, profile: Profile, cycle: CycleContext): Promise<void> {
    const { plugins } = profile
    let reserved = 0
    try {
      for (const { plugin } of plugins) {
        reserved++
        const refusal = plugin.reserve?.(pod, nodeName, cycle)
        if (refusal !== undefined) throw new Error(refusal)
      }
      for (const { plugin } of plugins) {
        const refusal = plugin.permit && (await plugin.permit(pod, nodeName, cycle))
        if (refusal !== undefined) throw new Error(refusal)
      }
      for (const { plugin } of plugins) if (plugin.preBind) await plugin.preBind(pod, nodeName, cycle)
      await this.#bind(pod, nodeName, profile, cycle)
    } catch (error) {
      for (const { plugin } of plugins.slice(0, reserved).reverse()) plugin.unreserve?.(pod, nodeName, cycle)
      throw error
    }
    for (const { plugin } of plugins) plugin.postBind?.(pod, nodeName, cycle)
  }

  async #bind(pod: Pod, nodeName: string, { plugins }: Profile, cycle: CycleContext): Promise<void> {
    for (const { plugin } of plugins) if (plugin.bind && (await plugin.bind(pod, nodeName, cycle))) return
    const { name = '', namespace = '', uid } = pod.metadata
    await this.#in(namespace).subresource('create', name, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: nodeName },
    })
  }

  #in(namespace: string): ResourceClient<Pod> {
    const known = this.#byNamespace.get(namespace)
    if (known) return known
    const client = this.#pods.namespace(namespace)
    this.#byNamespace.set(namespace, client)
    return client
  }
}
