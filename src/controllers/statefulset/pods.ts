import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { ControllerContext } from '../controller.ts'
import { isGone, messageOf } from '../pod-control/pod-control.ts'

/** Creates, corrects and deletes the pods of a set, and tells of it. Names are fixed, so nothing is made twice. */
export class StatefulPodControl {
  readonly #context: ControllerContext

  constructor(context: ControllerContext) {
    this.#context = context
  }

  async create(set: StatefulSet, pod: Pod): Promise<Pod> {
    return this.#told('create', set, pod, () => this.#resource(set).create(pod))
  }

  async delete(set: StatefulSet, pod: Pod): Promise<void> {
    const { name = '', uid = '' } = pod.metadata
    await this.#told('delete', set, pod, () => this.#resource(set).delete(name, { preconditions: { uid } }))
  }

  async addLabels(set: StatefulSet, pod: Pod, labels: Readonly<Record<string, string>>): Promise<void> {
    const patch = { metadata: { uid: pod.metadata.uid, labels } }
    await this.#told('update', set, pod, () => this.#resource(set).patch(pod.metadata.name ?? '', patch))
  }

  async #told<R>(verb: 'create' | 'delete' | 'update', set: StatefulSet, pod: Pod, act: () => Promise<R>): Promise<R> {
    const { events } = this.#context
    const what = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
    const reason = verb.charAt(0).toUpperCase() + verb.slice(1)
    try {
      const answer = await act()
      events.event(set, 'Normal', `Successful${reason}`, `${what} successful`)
      return answer
    } catch (error) {
      if (verb === 'delete' && isGone(error)) return undefined as R
      // The informer has not shown it yet: no failure that anybody needs to hear of.
      const isKnown = error instanceof ApiError && error.reason === 'AlreadyExists'
      if (!isKnown) events.event(set, 'Warning', `Failed${reason}`, `${what} failed error: ${messageOf(error)}`)
      throw error
    }
  }

  #resource(set: StatefulSet) {
    return this.#context.client.resource(podKind).namespace(set.metadata.namespace ?? '')
  }
}
