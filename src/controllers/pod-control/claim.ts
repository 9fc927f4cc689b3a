import { ApiError } from '../../api/meta/api-error.ts'
import { matchesLabels, type Selector } from '../../api/meta/label-selector.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { ResourceClient } from '../../client/client.ts'
import type { Informer } from '../../client/informer.ts'
import { controllerRef, dependentsOf, type OwnerKind, orphansIn } from './owner.ts'

/** Who claims what. The informer needs `controllerIndex`. */
export interface Claim<T extends KubernetesObject> {
  readonly owner: KubernetesObject
  readonly ownerKind: OwnerKind
  readonly selector: Selector
  readonly informer: Informer<T>
  /** The resource of the dependents, in the owner's namespace. */
  readonly dependents: ResourceClient<T>
  /** What else a dependent must be like; by default nothing. */
  readonly accepts?: (object: T) => boolean
  /** The resource of the owner, in its namespace. */
  readonly owners: { get(name: string): Promise<KubernetesObject> }
}

/**
 * The dependents of an owner: those it controls and its selector selects. One that is no longer selected is released,
 * an orphan that is selected is adopted. An owner that is being deleted does neither.
 */
export async function claim<T extends KubernetesObject>(request: Claim<T>): Promise<T[]> {
  const { owner, selector, informer, accepts = () => true } = request
  const isWanted = (object: T) => matchesLabels(selector, object.metadata.labels) && accepts(object)
  const isDeleting = owner.metadata.deletionTimestamp !== undefined
  const claimed: T[] = []
  const released: T[] = []
  for (const object of dependentsOf(informer, owner)) {
    if (isWanted(object)) claimed.push(object)
    else if (!isDeleting) released.push(object)
  }
  const adopted = isDeleting
    ? []
    : orphansIn(informer, owner.metadata.namespace).filter(
        (object) => !object.metadata.deletionTimestamp && isWanted(object),
      )
  await Promise.all(released.map((object) => release(request, object)))
  if (adopted.length > 0 && (await mayAdopt(request)))
    for (const object of adopted) if (await adopt(request, object)) claimed.push(object)
  return claimed
}

/** A cached owner may be gone already: only a fresh look allows it to take on more. */
async function mayAdopt({ owner, owners }: Pick<Claim<KubernetesObject>, 'owner' | 'owners'>): Promise<boolean> {
  const fresh = await ignoring([404], owners.get(owner.metadata.name ?? ''))
  return fresh?.metadata.uid === owner.metadata.uid && !fresh?.metadata.deletionTimestamp
}

async function adopt<T extends KubernetesObject>(request: Claim<T>, object: T): Promise<boolean> {
  const reference = controllerRef(request.owner, request.ownerKind)
  return (await patchOwners(request, object, [reference])) !== undefined
}

async function release<T extends KubernetesObject>(request: Claim<T>, object: T): Promise<void> {
  await patchOwners(request, object, [{ $patch: 'delete', uid: request.owner.metadata.uid }])
}

/** The uid in the patch refuses a namesake. What is gone, or has changed hands, is not ours to write. */
function patchOwners<T extends KubernetesObject>(request: Claim<T>, object: T, ownerReferences: readonly object[]) {
  const patch = { metadata: { uid: object.metadata.uid, ownerReferences } }
  const type = 'application/strategic-merge-patch+json'
  return ignoring([404, 422], request.dependents.patch(object.metadata.name ?? '', patch, { type }))
}

async function ignoring<T>(codes: readonly number[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && codes.includes(error.code)) return undefined
    throw error
  }
}
