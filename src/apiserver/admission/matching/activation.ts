import type { Kind } from '../../../api/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { CelVariables } from '../../../cel/compile.ts'
import { type CelValue, fromJson } from '../../../cel/values.ts'
import type { Authorizer } from '../../authorization/authorizer.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { authorizerValue } from './authorizer-functions.ts'
import { requestFields } from './request-fields.ts'
import type { SeenObjects } from './seen-request.ts'

export interface ActivationSource {
  readonly request: AdmissionRequest
  /** The version in which the objects are seen. */
  readonly kind: Kind
  readonly seen: SeenObjects
  readonly authorizer: Authorizer
  readonly namespaceObject?: KubernetesObject | undefined
}

/** The values of the variables of expressions, made when they are first read. */
export class Activation {
  readonly #source: ActivationSource
  readonly #values = new Map<string, CelValue>()

  constructor(source: ActivationSource) {
    this.#source = source
  }

  get(name: string): CelValue | undefined {
    let value = this.#values.get(name)
    if (value === undefined) {
      value = this.#make(name)
      this.#values.set(name, value)
    }
    return value
  }

  /** The same, with more variables. */
  with(more: ReadonlyMap<string, CelValue>): CelVariables {
    return { get: (name) => (more.has(name) ? more.get(name) : this.get(name)) }
  }

  #make(name: string): CelValue {
    const { request, kind, seen, authorizer, namespaceObject } = this.#source
    switch (name) {
      case 'object':
        return fromJson(seen.object)
      case 'oldObject':
        return fromJson(seen.old)
      case 'request':
        return fromJson(requestFields(request, kind))
      case 'namespaceObject':
        return fromJson(namespaceObject)
      case 'authorizer': {
        const { group, plural: resource } = kind
        const { namespace, name: called, subresource } = request
        const own = { group, resource, subresource, namespace, name: called }
        return authorizerValue(authorizer, request.user, own)
      }
      default:
        return null
    }
  }
}
