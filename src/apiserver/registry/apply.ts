import { ApiError, badRequest, conflict, MODIFIED_MESSAGE, objectNotFound } from '../../api/meta/api-error.ts'
import { required } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import { apiVersionOf, type KubernetesObject } from '../../api/meta/object.ts'
import { applyPatch } from '../../patch/apply-patch.ts'
import { adoptName } from '../objects/object-meta.ts'
import { inVersion } from '../objects/representation.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { Answer } from './answer.ts'
import { betweenSteps } from './between-steps.ts'
import { createWith } from './create.ts'
import { checkDraft, decodePatch, refuseGrownObject } from './decode.ts'
import { type Machinery, readForUpdate, targetOf } from './machinery.ts'
import { resetFields } from './managed-fields.ts'
import { change } from './update.ts'
import { invalidOptions, type WriteOptions } from './write-options.ts'

/** How often a create may turn into an update, or the other way round, because others create and delete meanwhile. */
const ATTEMPTS = 5

/** Server-side apply: the fields that are sent shall be so, and belong to the manager who sends them. */
export async function apply(machinery: Machinery, request: ResourceRequest, options: WriteOptions): Promise<Answer> {
  if (!request.query.get('fieldManager')) {
    throw invalidOptions('PatchOptions', [required(FieldPath.root('fieldManager'), 'is required for apply patch')])
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyOnce(machinery, request, options)
    } catch (error) {
      const isRace = error instanceof ApiError && (error.reason === 'AlreadyExists' || error.code === 404)
      if (!isRace || request.subresource !== '' || attempt === ATTEMPTS) throw error
      if (error.code === 404 && error.details?.kind !== request.kind.plural) throw error
    }
  }
}

async function applyOnce(machinery: Machinery, request: ResourceRequest, options: WriteOptions): Promise<Answer> {
  const target = targetOf(machinery, request)
  if (await readForUpdate(machinery, target)) {
    const object = await change(machinery, request, options, (current) => applied(machinery, request, options, current))
    return { type: 'object', status: 200, kind: request.kind, object }
  }
  if (request.subresource !== '') throw objectNotFound(target.ref, request.name)
  await machinery.mayCreate(request)
  const object = await createWith(machinery, request, options, async () => {
    const draft = await applied(machinery, request, options, undefined)
    if (draft.metadata.uid)
      throw conflict(target.ref, request.name, 'uid mismatch: the object has one, and none exists')
    delete draft.metadata.resourceVersion
    return draft
  })
  return { type: 'object', status: 201, kind: request.kind, object }
}

async function applied(
  machinery: Machinery,
  request: ResourceRequest,
  options: WriteOptions,
  current: CachedObject | undefined,
): Promise<KubernetesObject> {
  const { kind, subresource } = request
  const stored = current && inVersion(kind, current)
  const { value, duplicates } = decodePatch(request.body!)
  const bytes = (request.bodyBytes ?? 0) + (current?.bytes.length ?? 0)
  await betweenSteps(bytes)
  const reset = resetFields(kind, subresource)
  const { object } = applyPatch({
    old: stored?.object,
    draft: stored?.draft(),
    patch: value,
    manager: options.fieldManager,
    apiVersion: apiVersionOf(kind),
    subresource,
    force: options.force,
    now: machinery.clock.now(),
    schema: kind.schema,
    ...(reset && { reset }),
  })
  refuseGrownObject(object, bytes)
  await betweenSteps(bytes)
  checkDraft(object, kind, undefined, request, options, duplicates)
  checkIdentity(request, object, current)
  return object
}

function checkIdentity(request: ResourceRequest, object: KubernetesObject, current: CachedObject | undefined): void {
  if (object.kind !== request.kind.kind) {
    throw badRequest(
      `the kind of the object (${object.kind}) does not match the kind on the URL (${request.kind.kind})`,
    )
  }
  adoptName(request, object.metadata)
  const { resourceVersion } = object.metadata
  if (current && resourceVersion && resourceVersion !== String(current.revision)) {
    throw conflict({ group: request.kind.group, resource: request.kind.plural }, request.name, MODIFIED_MESSAGE)
  }
}
