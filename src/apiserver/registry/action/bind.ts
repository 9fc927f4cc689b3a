import type { Binding, Pod } from '../../../api/generated/core-v1.ts'
import { badRequest, conflict, invalidObject } from '../../../api/meta/api-error.ts'
import { notSupported, required } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import type { Answer } from '../answer.ts'
import { decodePlain } from '../decode.ts'
import type { Machinery } from '../machinery.ts'
import type { ResourceRequest } from '../request.ts'
import { change } from '../update.ts'
import { parseWriteOptions } from '../write-options.ts'

const TARGET = FieldPath.root('target')

/** POST pods/NAME/binding: the scheduler's decision. A pod is bound once and stays bound. */
export async function bindPod(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'CreateOptions')
  if (!request.body) throw badRequest('the request has no body')
  const binding = decodePlain(request.body, 'Binding') as unknown as Binding
  checkBinding(request, binding)
  await change(machinery, { ...request, subresource: 'binding' }, options, (current) => {
    const draft = current.draft() as Pod
    delete draft.metadata.resourceVersion
    assign(draft, binding, machinery.clock.now())
    return draft as KubernetesObject
  })
  return {
    type: 'plain',
    status: 201,
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
  }
}

/** The older door, POST bindings: the pod's name is in the body. */
export function createBinding(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  if (!request.body) throw badRequest('the request has no body')
  const binding = decodePlain(request.body, 'Binding') as unknown as Binding
  const pods = machinery.kinds.byResource('', 'v1', 'pods')!
  return bindPod(machinery, {
    ...request,
    kind: pods,
    name: binding.metadata?.name ?? '',
    body: { type: 'object', object: binding },
  })
}

function checkBinding(request: ResourceRequest, binding: Binding): void {
  const name = binding.metadata?.name
  if (name && name !== request.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`)
  }
  const errors = []
  const kind = binding.target?.kind
  if (kind && kind !== 'Node') errors.push(notSupported(TARGET.child('kind'), kind, ['Node', '<empty>']))
  if (!binding.target?.name) errors.push(required(TARGET.child('name')))
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'Binding' }, request.name, errors)
}

function assign(draft: Pod, binding: Binding, now: number): void {
  const { name = '', uid } = draft.metadata
  const refuse = (message: string) => conflict({ group: '', resource: 'pods/binding' }, name, message)
  if (binding.metadata?.uid && binding.metadata.uid !== uid)
    throw refuse('the pod was replaced by another of the same name')
  if (draft.metadata.deletionTimestamp) throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  if (draft.spec?.nodeName)
    throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(draft.spec.nodeName)}`)
  if ((draft.spec?.schedulingGates?.length ?? 0) > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`)
  draft.spec!.nodeName = binding.target.name!
  const { annotations } = binding.metadata ?? {}
  if (annotations) draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations }
  const status = draft.status ?? {}
  draft.status = status
  const others = (status.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled')
  status.conditions = [
    ...others,
    { type: 'PodScheduled', status: 'True', lastProbeTime: null!, lastTransitionTime: formatTime(now) },
  ]
}
