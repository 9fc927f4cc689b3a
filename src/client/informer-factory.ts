import type { Kind } from '../api/kind.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import type { Client } from './client.ts'
import { type Informer, type InformerContext, type InformerOptions, startInformer } from './informer.ts'
import type { ResourceType } from './transport.ts'

/** Hands out one informer per resource and selector, shared by all who ask, started when first asked for. */
export class InformerFactory implements AsyncDisposable {
  readonly #client: Client
  readonly #context: InformerContext
  readonly #informers = new Map<string, Informer<KubernetesObject>>()

  constructor(client: Client, context: InformerContext) {
    this.#client = client
    this.#context = context
  }

  informer<T extends KubernetesObject>(kind: Kind<T>, options?: InformerOptions): Informer<T>
  informer<T extends KubernetesObject = KubernetesObject>(type: ResourceType, options?: InformerOptions): Informer<T>
  informer(type: ResourceType, options: InformerOptions = {}): Informer<KubernetesObject> {
    const id = [type.group, type.version, type.plural, options.labelSelector, options.fieldSelector].join('|')
    let informer = this.#informers.get(id)
    if (!informer) {
      informer = startInformer(this.#client.resource(type), this.#context, options)
      this.#informers.set(id, informer)
    }
    return informer
  }

  /** Resolves when every informer asked for so far has its first list. */
  async synced(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer[Symbol.asyncDispose]()))
  }
}
