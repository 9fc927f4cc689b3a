import type { Kind, ScaleSubresource } from '../../api/kind.ts'
import {
  badRequest,
  conflict,
  invalidObject,
  MODIFIED_MESSAGE,
  pathNotFound,
  unsupportedMediaType,
} from '../../api/meta/api-error.ts'
import { invalid } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { jsonPatch } from '../../patch/json-patch.ts'
import { mergePatch } from '../../patch/merge-patch.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { Answer } from './answer.ts'
import { decodeBody, decodePlain } from './decode.ts'
import { get } from './get.ts'
import type { Machinery } from './machinery.ts'
import { change } from './update.ts'
import { parseWriteOptions } from './write-options.ts'

/** autoscaling/v1 Scale: the number of replicas of anything, behind one face. */
interface Scale extends KubernetesObject {
  spec?: { replicas?: number }
  status: { replicas: number; selector?: string }
}

export async function getScale(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const answer = await get(machinery, request)
  if (answer.type !== 'object') return answer
  return { type: 'plain', status: 200, body: scaleOf(request.kind, answer.object.object) }
}

export function updateScale(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  if (!request.body) throw badRequest('the request has no body')
  const wanted = decodePlain(request.body, 'Scale') as unknown as Scale
  return setScale(machinery, request, () => wanted)
}

export function patchScale(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  if (!request.body) throw badRequest('the request has no body')
  const { body } = request
  return setScale(machinery, request, (current) => {
    const { value } = decodeBody(body)
    switch (request.patchType) {
      case 'application/json-patch+json':
        return jsonPatch(current, value) as Scale
      // A scale has no lists, so both kinds of merge are the same.
      case 'application/merge-patch+json':
      case 'application/strategic-merge-patch+json':
      case 'application/apply-patch+yaml':
        return mergePatch(current, value) as Scale
      default:
        throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json'])
    }
  })
}

async function setScale(
  machinery: Machinery,
  request: ResourceRequest,
  want: (current: Scale) => Scale,
): Promise<Answer> {
  const options = parseWriteOptions(request, 'UpdateOptions')
  const object = await change(machinery, { ...request, patchType: undefined }, options, (current) => {
    const scale = want(scaleOf(request.kind, current.object))
    checkScale(request, scale, current)
    const draft = current.draft()
    if (!scale.metadata?.resourceVersion) delete draft.metadata.resourceVersion
    subresourceOf(request.kind).setReplicas(draft, scale.spec?.replicas ?? 0)
    return draft
  })
  return { type: 'plain', status: 200, body: scaleOf(request.kind, object.object) }
}

function checkScale(request: ResourceRequest, scale: Scale, current: CachedObject): void {
  const name = scale.metadata?.name
  if (name && name !== request.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`)
  }
  const version = scale.metadata?.resourceVersion
  if (version && version !== String(current.revision)) {
    throw conflict({ group: request.kind.group, resource: request.kind.plural }, request.name, MODIFIED_MESSAGE)
  }
  const replicas = scale.spec?.replicas ?? 0
  if (Number.isInteger(replicas) && replicas >= 0 && replicas < 2 ** 31) return
  if (typeof replicas !== 'number')
    throw badRequest(
      'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal into Go struct field ScaleSpec.spec.replicas of type int32',
    )
  const path = FieldPath.root('spec').child('replicas')
  throw invalidObject({ group: 'autoscaling', kind: 'Scale' }, request.name, [
    invalid(path, replicas, 'must be greater than or equal to 0'),
  ])
}

function subresourceOf(kind: Kind): ScaleSubresource {
  const scale = kind.subresources.scale
  if (scale?.type !== 'scale') throw pathNotFound()
  return scale
}

function scaleOf(kind: Kind, object: KubernetesObject): Scale {
  const scale = subresourceOf(kind)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = scale.selector(object)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: name!,
      ...(namespace && { namespace }),
      uid: uid!,
      resourceVersion: resourceVersion!,
      creationTimestamp: creationTimestamp!,
    },
    spec: { replicas: scale.replicas(object) },
    status: { replicas: scale.statusReplicas(object), ...(selector && { selector }) },
  }
}
