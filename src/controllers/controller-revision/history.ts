import type { ControllerRevision } from '../../api/generated/apps-v1.ts'
import type { PodTemplateSpec } from '../../api/generated/core-v1.ts'
import type { Kind } from '../../api/kind.ts'
import { controllerRevisionKind } from '../../api/kinds/apps/controller-revision.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Selector } from '../../api/meta/label-selector.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Informer } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import { claim } from '../pod-control/claim.ts'
import { controllerIndex, controllerRef } from '../pod-control/owner.ts'
import { canonicalJson, templateHash } from './template-hash.ts'

/** An owner whose templates are remembered. */
export interface Versioned extends KubernetesObject {
  spec?: { template: PodTemplateSpec }
  status?: { collisionCount?: number }
}

export interface CurrentRevision {
  readonly revision: ControllerRevision
  /** How often a name was taken by another's revision. */
  readonly collisionCount: number
}

/** The templates that StatefulSets or DaemonSets once had, as ControllerRevisions. Names follow from the template. */
export class RevisionHistory<O extends Versioned> {
  readonly #context: ControllerContext
  readonly #ownerKind: Kind<O>
  readonly #revisions: Informer<ControllerRevision>
  readonly #hashLabel: string

  constructor(context: ControllerContext, ownerKind: Kind<O>, hashLabel: string) {
    this.#context = context
    this.#ownerKind = ownerKind
    this.#hashLabel = hashLabel
    this.#revisions = context.informers.informer(controllerRevisionKind, { indexes: controllerIndex })
  }

  get informer(): Informer<ControllerRevision> {
    return this.#revisions
  }

  /** All revisions of an owner, the oldest first; orphans that match are adopted. */
  async list(owner: O, selector: Selector): Promise<ControllerRevision[]> {
    const namespace = owner.metadata.namespace ?? ''
    const claimed = await claim<ControllerRevision>({
      owner,
      ownerKind: this.#ownerKind,
      selector,
      informer: this.#revisions,
      dependents: this.#resource(owner),
      owners: this.#context.client.resource(this.#ownerKind).namespace(namespace),
    })
    return claimed.sort(byRevision)
  }

  /** The revision of the owner's template: made if there is none, and made the newest if it is an older one. */
  async current(owner: O, revisions: readonly ControllerRevision[]): Promise<CurrentRevision> {
    const collisionCount = owner.status?.collisionCount ?? 0
    const data = templatePatch(owner.spec?.template)
    const newest = revisions.at(-1)
    const equal = revisions.findLast((revision) => deepEqual(revision.data, data))
    if (!equal) return this.#create(owner, data, (newest?.revision ?? 0) + 1, collisionCount)
    if (equal === newest) return { revision: equal, collisionCount }
    const promoted = await this.#resource(owner).update({ ...equal, revision: newest!.revision + 1 })
    return { revision: promoted, collisionCount }
  }

  /** Other revisions of the same template: somebody else made or copied them. */
  duplicates(revisions: readonly ControllerRevision[], current: ControllerRevision): ControllerRevision[] {
    return revisions.filter(
      ({ metadata, data }) => metadata.name !== current.metadata.name && deepEqual(data, current.data),
    )
  }

  /** Deletes the oldest of those that are not in use, beyond the owner's limit. */
  async truncate(owner: O, unused: readonly ControllerRevision[], limit: number): Promise<void> {
    for (const { metadata } of unused.slice(0, Math.max(0, unused.length - limit)))
      try {
        await this.#resource(owner).delete(metadata.name!, { preconditions: { uid: metadata.uid! } })
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 404)) throw error
      }
  }

  async #create(owner: O, data: unknown, revision: number, collisions: number): Promise<CurrentRevision> {
    for (let collisionCount = collisions; ; collisionCount++) {
      const wanted = this.#newRevision(owner, data, revision, collisionCount)
      try {
        return { revision: await this.#resource(owner).create(wanted), collisionCount }
      } catch (error) {
        if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error
        // Ours, made by a write whose answer was lost; or another's that happens to have the name.
        const found = await this.#resource(owner).get(wanted.metadata.name!)
        if (deepEqual(found.data, data)) return { revision: found, collisionCount }
      }
    }
  }

  #newRevision(owner: O, data: unknown, revision: number, collisionCount: number): ControllerRevision {
    const hash = templateHash(data, collisionCount)
    const { name, namespace, annotations } = owner.metadata
    return {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `${name}-${hash}`,
        namespace: namespace ?? '',
        labels: { ...owner.spec?.template.metadata?.labels, [this.#hashLabel]: hash },
        ...(annotations && { annotations }),
        ownerReferences: [controllerRef(owner, this.#ownerKind)],
      },
      data,
      revision,
    }
  }

  #resource(owner: O) {
    return this.#context.client.resource(controllerRevisionKind).namespace(owner.metadata.namespace ?? '')
  }
}

interface TemplatePatch {
  readonly spec: { readonly template: PodTemplateSpec & { $patch?: string } }
}

/**
 * A strategic merge patch that brings the template back: what `kubectl rollout undo` sends. With its fields in order: others
 * compare the bytes with those that Go would write.
 */
function templatePatch(template: PodTemplateSpec | undefined): TemplatePatch {
  // Clients write an empty creation time into templates; it would tell equal ones apart.
  const { creationTimestamp: _, ...metadata } = template?.metadata ?? {}
  return JSON.parse(
    canonicalJson({ spec: { template: { ...template, metadata, $patch: 'replace' } } }),
  ) as TemplatePatch
}

/** The template that a revision keeps. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const { $patch: _, ...template } = (revision.data as unknown as TemplatePatch).spec.template
  return template
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision
  const [left, right] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
  if (left !== right) return left < right ? -1 : 1
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
}
