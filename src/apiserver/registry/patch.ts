import { builtinType, type Kind } from '../../api/kind.ts'
import { badRequest, conflict, MODIFIED_MESSAGE, unsupportedMediaType } from '../../api/meta/api-error.ts'
import { forbidden } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { jsonPatch } from '../../patch/json-patch.ts'
import { isObject } from '../../patch/json-value.ts'
import { mergePatch } from '../../patch/merge-patch.ts'
import { strategicMergePatch } from '../../patch/strategic-merge-patch.ts'
import { inVersion } from '../objects/representation.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { copyObject } from '../watch-cache/copy-object.ts'
import type { Answer } from './answer.ts'
import { apply } from './apply.ts'
import { betweenSteps } from './between-steps.ts'
import { checkDraft, decodePatch, refuseGrownObject } from './decode.ts'
import type { Machinery } from './machinery.ts'
import { change } from './update.ts'
import { invalidOptions, parseWriteOptions, type WriteOptions } from './write-options.ts'

/** Lists of custom resources have no merge keys. */
const CUSTOM_PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
]
const isCustom = (kind: Kind) => builtinType(kind) === undefined

/** PATCH: four ways to say what shall be different. */
export async function patch(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'PatchOptions')
  if (!request.body) throw badRequest('the request has no body')
  if (request.patchType === 'application/apply-patch+yaml') return apply(machinery, request, options)
  if (request.patchType === 'application/strategic-merge-patch+json' && isCustom(request.kind)) {
    throw unsupportedMediaType(CUSTOM_PATCH_TYPES)
  }
  if (request.query.has('force')) {
    const error = forbidden(FieldPath.root('force'), 'may not be specified for non-apply patch')
    throw invalidOptions('PatchOptions', [error])
  }
  const object = await change(machinery, request, options, (current) => patched(request, options, current))
  return { type: 'object', status: 200, kind: request.kind, object }
}

async function patched(
  request: ResourceRequest,
  options: WriteOptions,
  current: CachedObject,
): Promise<KubernetesObject> {
  const { value, duplicates } = decodePatch(request.body!)
  const bytes = (request.bodyBytes ?? 0) + current.bytes.length
  await betweenSteps(bytes)
  const draft = await draftFor(request, value, inVersion(request.kind, current), async (copy) => {
    const changed = applyTo(request, value, copy)
    refuseGrownObject(changed, bytes)
    await betweenSteps(bytes)
    checkDraft(changed, request.kind, undefined, request, options, duplicates)
    return changed
  })
  // A resourceVersion in the patch is a precondition.
  const { resourceVersion, name } = draft.metadata
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== String(current.revision)) {
    throw conflict({ group: request.kind.group, resource: request.kind.plural }, request.name, MODIFIED_MESSAGE)
  }
  if (name !== request.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`)
  }
  return draft
}

/**
 * Whoever comes through the status door cannot change the spec: that of a pod is neither copied nor checked. Other kinds
 * are patched less often, and some of them take defaults of their status from the spec.
 */
async function draftFor(
  request: ResourceRequest,
  patch: unknown,
  current: Pick<CachedObject, 'object' | 'draft'>,
  change: (copy: KubernetesObject) => Promise<KubernetesObject>,
): Promise<KubernetesObject> {
  if (!isAboutStatus(request, patch)) return change(current.draft())
  const whole: KubernetesObject & { spec?: unknown } = current.object
  const { spec: _, metadata, ...rest } = whole
  const { managedFields: __, ...meta } = metadata
  const draft = await change(copyObject({ ...rest, metadata: meta }))
  // The spec comes back to its place when the door puts it back.
  const ordered: Record<string, unknown> = {}
  for (const name of Object.keys(whole)) if (name === 'spec' || name in draft) ordered[name] = undefined
  return Object.assign(ordered, draft) as unknown as KubernetesObject
}

const ABOUT_STATUS = new Set(['kind', 'apiVersion', 'metadata', 'status'])

function isAboutStatus({ kind, subresource, patchType }: ResourceRequest, patch: unknown): boolean {
  if (subresource !== 'status' || patchType === 'application/json-patch+json') return false
  if (kind.group !== '' || kind.plural !== 'pods' || !isObject(patch)) return false
  const { metadata } = patch
  if (isObject(metadata) && Object.keys(metadata).some((name) => name === 'managedFields' || name.startsWith('$')))
    return false
  return Object.keys(patch).every((name) => ABOUT_STATUS.has(name))
}

function applyTo(request: ResourceRequest, value: unknown, draft: KubernetesObject): KubernetesObject {
  switch (request.patchType) {
    case 'application/json-patch+json':
      return jsonPatch(draft, value, request.kind.schema)
    case 'application/merge-patch+json':
      return mergePatch(draft, value)
    case 'application/strategic-merge-patch+json':
      return strategicMergePatch(draft, value, request.kind.schema)
    default:
      throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json'])
  }
}
