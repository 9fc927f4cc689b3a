import type { Pod, PodTemplateSpec } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { objectKey } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import type { Expectations } from './expectations.ts'
import { controllerRef, type OwnerKind } from './owner.ts'

/** Creates and deletes the pods of an owner, tells its events, and remembers what the informer has to show yet. */
export interface PodControl {
  /** Fails with the API server's answer, after an event told it. */
  create(owner: KubernetesObject, pod: Pod): Promise<Pod>
  /** A pod that is gone, or was replaced by a namesake, counts as deleted. */
  delete(owner: KubernetesObject, pod: Pod): Promise<void>
}

export function createPodControl(
  { client, events }: Pick<ControllerContext, 'client' | 'events'>,
  expectations: Expectations<Pod>,
): PodControl {
  const pods = (owner: KubernetesObject) => client.resource(podKind).namespace(owner.metadata.namespace ?? '')
  return {
    async create(owner, pod) {
      try {
        const created = await expectations.create(objectKey(owner), () => pods(owner).create(pod))
        events.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`)
        return created
      } catch (error) {
        // In a namespace that is going away every creation fails: nobody needs to be told.
        if (!isNamespaceTerminating(error))
          events.event(owner, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`)
        throw error
      }
    },
    async delete(owner, pod) {
      const { name = '', uid = '' } = pod.metadata
      const remove = () => pods(owner).delete(name, { preconditions: { uid } })
      try {
        await expectations.delete(objectKey(owner), pod, remove)
        events.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`)
      } catch (error) {
        if (isGone(error)) return
        events.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`)
        throw error
      }
    },
  }
}

/** A pod as the template says, controlled by `owner`, with a name the server completes. */
export function podFromTemplate(template: PodTemplateSpec, owner: KubernetesObject, kind: OwnerKind): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${owner.metadata.name}-`,
      namespace: owner.metadata.namespace ?? '',
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [controllerRef(owner, kind)],
    },
    ...(template.spec && { spec: template.spec }),
  }
}

/** There is none of this uid any more: not found, or the precondition met a namesake. */
export const isGone = (error: unknown) => error instanceof ApiError && (error.code === 404 || error.code === 409)

export const isNamespaceTerminating = (error: unknown) =>
  error instanceof ApiError && !!error.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating')

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
