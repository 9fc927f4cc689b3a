import type { Kind, Subresource, Verb } from '../../api/kind.ts'
import { methodNotSupported, pathNotFound } from '../../api/meta/api-error.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { Actions } from './actions.ts'
import type { Answer } from './answer.ts'
import { create } from './create.ts'
import { deleteOne } from './delete.ts'
import { deleteCollection } from './delete-collection.ts'
import { get } from './get.ts'
import { list } from './list.ts'
import type { Machinery } from './machinery.ts'
import { patch } from './patch.ts'
import { getScale, patchScale, updateScale } from './scale.ts'
import { update } from './update.ts'

type VerbHandler = (machinery: Machinery, request: ResourceRequest) => Answer | Promise<Answer>

const OBJECT_VERBS: Readonly<Record<Exclude<Verb, 'watch'>, VerbHandler>> = {
  get,
  list,
  create,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
}

const PART_VERBS: Readonly<Partial<Record<Verb, VerbHandler>>> = { get, update, patch }
const SCALE_VERBS: Readonly<Partial<Record<Verb, VerbHandler>>> = {
  get: getScale,
  update: updateScale,
  patch: patchScale,
}

/** Carries out every verb but watch. Routing has made sure that scope and name fit the kind. */
export function perform(
  machinery: Machinery,
  actions: Actions,
  verb: Exclude<Verb, 'watch'>,
  request: ResourceRequest,
): Answer | Promise<Answer> {
  const { kind, subresource } = request
  const handler =
    subresource === '' ? mainHandler(kind, actions, verb) : subresourceHandler(kind, subresource, actions, verb)
  return handler(machinery, request)
}

function mainHandler(kind: Kind, actions: Actions, verb: Exclude<Verb, 'watch'>): VerbHandler {
  if (!kind.verbs.includes(verb)) throw methodNotSupported(refOf(kind), verb)
  // Reviews and the like are kinds that nothing stores.
  return actions.find(kind, '', verb) ?? OBJECT_VERBS[verb]
}

function subresourceHandler(kind: Kind, name: string, actions: Actions, verb: Verb): VerbHandler {
  const subresource: Subresource | undefined = kind.subresources[name]
  if (!subresource) throw pathNotFound()
  const handler =
    subresource.type === 'part'
      ? subresource.verbs.includes(verb) && PART_VERBS[verb]
      : subresource.type === 'scale'
        ? SCALE_VERBS[verb]
        : actions.find(kind, name, verb)
  if (!handler) throw methodNotSupported(refOf(kind), verb)
  return handler
}

const refOf = (kind: Kind) => ({ group: kind.group, resource: kind.plural })
