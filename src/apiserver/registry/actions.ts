import type { Kind, Verb } from '../../api/kind.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { Answer } from './answer.ts'
import type { Machinery } from './machinery.ts'

export type Action = (machinery: Machinery, request: ResourceRequest) => Promise<Answer>

/** Requests that are no edit of a stored object: bindings, evictions, reviews. Listed by whoever serves them. */
export class Actions {
  readonly #actions = new Map<string, Action>()

  /** `Actions.of({ 'create pods/binding': bind })`; groups follow the resource: `create reviews.group`. */
  static of(table: Readonly<Record<string, Action>>): Actions {
    const actions = new Actions()
    for (const [name, action] of Object.entries(table)) actions.#actions.set(name, action)
    return actions
  }

  find(kind: Kind, subresource: string, verb: Verb): Action | undefined {
    const resource = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`
    return this.#actions.get(subresource === '' ? `${verb} ${resource}` : `${verb} ${resource}/${subresource}`)
  }
}
