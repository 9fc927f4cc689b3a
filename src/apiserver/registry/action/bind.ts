import type { Binding, Pod } from '../../../api/generated/core-v1.ts'
import { validateAnnotationUpdate } from '../../../api/kinds/core/pod/annotations-validation.ts'
import { badRequest, conflict, invalidObject, objectNotFound, timeout } from '../../../api/meta/api-error.ts'
import { type FieldError, notSupported, required } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import { copyWith } from '../../../base/copy-with.ts'
import { ConflictError } from '../../../store/store.ts'
import type { AdmissionRequest } from '../../admission/plugin.ts'
import type { ResourceRequest } from '../../request/resource-request.ts'
import type { Answer } from '../answer.ts'
import { commitObject, NO_ALLOCATION } from '../commit.ts'
import { decodePlain } from '../decode.ts'
import { type Machinery, readForUpdate, type Target, targetOf } from '../machinery.ts'
import { validateChanged } from '../validation.ts'
import { parseWriteOptions } from '../write-options.ts'
import { encodeBoundPod } from './bound-pod.ts'

const TARGET = FieldPath.root('target')
const ANNOTATIONS = FieldPath.root('metadata').child('annotations')

/** How often it is tried again because somebody else was faster. */
const ATTEMPTS = 20

/**
 * POST pods/NAME/binding: the scheduler's decision. A pod is bound once and stays bound. Only the few fields named here
 * change, so what does not is shared with the object as it was, and nobody owns the change, as managed fields go.
 */
export async function bindPod(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'CreateOptions')
  if (!request.body) throw badRequest('the request has no body')
  const binding = decodePlain(request.body, 'Binding') as unknown as Binding
  checkBinding(request, binding)
  await admitBinding(machinery, request, binding, options.dryRun)
  const target = targetOf(machinery, request)
  await machinery.locks.run(target.key, () => bindLocked(machinery, request.name, target, binding, options.dryRun))
  return {
    type: 'plain',
    status: 201,
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
  }
}

async function bindLocked(
  machinery: Machinery,
  name: string,
  target: Target,
  binding: Binding,
  dryRun: boolean,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const reading = readForUpdate(machinery, target)
    const current = reading instanceof Promise ? await reading : reading
    if (!current) throw objectNotFound(target.ref, name)
    const old = current.object as Pod
    checkUnbound(old, binding)
    const bound = assigned(old, binding, machinery.clock.now())
    if (binding.metadata?.annotations || binding.metadata?.labels) validateAdded(target, bound, old)
    if (dryRun) return
    try {
      const encoded = target.form ? undefined : encodeBoundPod(current, bound)
      await commitObject(machinery, target, current.revision, bound, NO_ALLOCATION, encoded)
      return
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
  }
  throw timeout('the object is changed too often by others; please try again', 1)
}

/** A Binding may add labels and annotations, but none that the pod itself could not get after its creation. */
function validateAdded(target: Target, bound: Pod, old: Pod): void {
  validateChanged(target.storage, target.storage.subresources.binding, bound, old)
  const errors: FieldError[] = []
  validateAnnotationUpdate(bound, old, ANNOTATIONS, errors)
  if (errors.length > 0) throw invalidObject(target.storage, old.metadata.name ?? '', errors)
}

async function admitBinding(
  machinery: Machinery,
  request: ResourceRequest,
  binding: Binding,
  dryRun: boolean,
): Promise<void> {
  const admission: AdmissionRequest = {
    operation: 'CREATE',
    kind: request.kind,
    subresource: 'binding',
    namespace: request.namespace,
    name: request.name,
    draft: binding as KubernetesObject,
    old: undefined,
    user: request.user,
    dryRun,
    warn: (message) => request.warnings.push(message),
    annotate: request.annotate,
  }
  const admitting = machinery.admission.admit(admission)
  if (admitting) await admitting
  const validating = machinery.admission.validate(admission)
  if (validating) await validating
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

function checkUnbound({ metadata, spec }: Pod, binding: Binding): void {
  const { name = '', uid } = metadata
  const refuse = (message: string) => conflict({ group: '', resource: 'pods/binding' }, name, message)
  if (binding.metadata?.uid && binding.metadata.uid !== uid)
    throw refuse('the pod was replaced by another of the same name')
  if (metadata.deletionTimestamp) throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  if (spec?.nodeName) throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`)
  if ((spec?.schedulingGates?.length ?? 0) > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`)
}

function assigned(pod: Pod, binding: Binding, now: number): Pod {
  const { metadata, spec, status } = pod
  const { annotations, labels } = binding.metadata ?? {}
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null!, lastTransitionTime: formatTime(now) }
  const others = (status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled')
  return {
    ...pod,
    metadata: annotations || labels ? withAdded(metadata, { annotations, labels }) : metadata,
    spec: copyWith(spec!, { nodeName: binding.target.name! }),
    status: copyWith(status ?? {}, { conditions: [...others, scheduled] }),
  }
}

type Added = Pick<Pod['metadata'], 'annotations' | 'labels'>

function withAdded(metadata: Pod['metadata'], { annotations, labels }: { [K in keyof Added]: Added[K] | undefined }) {
  return {
    ...metadata,
    ...(annotations && { annotations: { ...metadata.annotations, ...annotations } }),
    ...(labels && { labels: { ...metadata.labels, ...labels } }),
  }
}
