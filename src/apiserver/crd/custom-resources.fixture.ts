import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import type { ApiCall, ResourceType, Transport } from '../../client/transport.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../server.ts'

export type AnyObject = KubernetesObject & Record<string, unknown>
type Props = Record<string, unknown>

export const DEFINITION_TYPE: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

export interface VersionOptions {
  readonly name?: string
  readonly served?: boolean
  readonly storage?: boolean
  /** Of the whole object; `spec` is short for an object with nothing but a spec. */
  readonly schema?: Props
  readonly spec?: Props
  readonly extra?: Props
}

export interface DefinitionOptions {
  readonly group?: string
  readonly plural?: string
  readonly kind?: string
  readonly scope?: 'Cluster' | 'Namespaced'
  readonly names?: Props
  readonly versions?: readonly VersionOptions[]
  readonly conversion?: Props
}

export function definitionOf(options: DefinitionOptions = {}): AnyObject {
  const { group = 'example.com', plural = 'widgets', kind = 'Widget', scope = 'Namespaced', conversion } = options
  const versions = (options.versions ?? [{}]).map((version, i) => ({
    name: version.name ?? 'v1',
    served: version.served ?? true,
    storage: version.storage ?? i === 0,
    schema: {
      openAPIV3Schema: version.schema ?? {
        type: 'object',
        properties: { spec: { type: 'object', ...version.spec }, status: { type: 'object', ...PRESERVE } },
      },
    },
    ...version.extra,
  }))
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind, ...options.names }, versions, ...(conversion && { conversion }) },
  }
}

export const PRESERVE = { 'x-kubernetes-preserve-unknown-fields': true }

export const typeOf = (definition: AnyObject, version = 'v1'): ResourceType => {
  const spec = definition.spec as { group: string; scope: string; names: { plural: string } }
  return { group: spec.group, version, plural: spec.names.plural, namespaced: spec.scope === 'Namespaced' }
}

/** A server in this process and short ways to talk to it. */
export class Bench implements AsyncDisposable {
  readonly server: ApiServer
  readonly api: Transport
  readonly #store: AsyncDisposable

  private constructor(server: ApiServer, store: AsyncDisposable) {
    this.server = server
    this.api = server.transport({ name: 'admin', groups: ['system:masters'] })
    this.#store = store
  }

  static async start(options: Partial<ApiServerOptions> = {}): Promise<Bench> {
    const store = options.store ?? (await openMemoryStore())
    const server = await startApiServer({
      store,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      serviceCidrs: ['10.96.0.0/16'],
      ...options,
    })
    // A store that was brought belongs to whoever brought it.
    return new Bench(server, options.store ? { async [Symbol.asyncDispose]() {} } : store)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    await this.#store[Symbol.asyncDispose]()
  }

  async call(call: ApiCall): Promise<AnyObject> {
    const namespace = call.resource.namespaced ? (call.namespace ?? 'default') : ''
    return (await this.api.call({ ...call, namespace })) as AnyObject
  }

  define(definition: AnyObject): Promise<AnyObject> {
    return this.call({ verb: 'create', resource: DEFINITION_TYPE, body: definition })
  }

  readDefinition(name: string): Promise<AnyObject> {
    return this.call({ verb: 'get', resource: DEFINITION_TYPE, name })
  }

  create(resource: ResourceType, object: object, query: Record<string, string> = {}): Promise<AnyObject> {
    return this.call({ verb: 'create', resource, body: object, query })
  }

  get(resource: ResourceType, name: string): Promise<AnyObject> {
    return this.call({ verb: 'get', resource, name })
  }

  update(resource: ResourceType, object: AnyObject, subresource = ''): Promise<AnyObject> {
    return this.call({ verb: 'update', resource, name: object.metadata.name!, subresource, body: object })
  }
}

export async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`)
  return error
}
