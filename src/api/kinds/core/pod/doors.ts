import { deepEqual } from '../../../../base/deep-equal.ts'
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../../generated/core-v1.ts'
import type { StatusSubresource } from '../../../kind.ts'
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { keepField, raiseGeneration } from '../../../strategy.ts'
import { MIRROR_ANNOTATION } from './annotations-validation.ts'
import { qosClass } from './qos.ts'
import type { ResourceList } from './resources.ts'
import { specDiff } from './spec-diff.ts'
import { validatePod } from './validation.ts'

const SPEC = FieldPath.root('spec')
const OBJECT = FieldPath.root('')
const DOOR_VERBS = ['get', 'patch', 'update'] as const

/** `kubectl debug` adds containers to a running pod here; they can never leave again. */
export const ephemeralContainersDoor: StatusSubresource<Pod> = {
  type: 'part',
  verbs: DOOR_VERBS,
  prepareUpdate(draft, old) {
    const added = draft.spec?.ephemeralContainers
    keepAllButSpec(draft, old)
    draft.spec = { ...(old.spec ?? { containers: [] }) }
    if (added === undefined) delete draft.spec.ephemeralContainers
    else draft.spec.ephemeralContainers = added
    raiseGeneration(draft, old)
  },
  validateUpdate(pod, old) {
    if (isMirror(old)) return [forbidden(OBJECT, 'static pods do not support ephemeral containers')]
    const errors = validatePod(pod)
    const path = SPEC.child('ephemeralContainers')
    const byName = new Map(pod.spec?.ephemeralContainers?.map((container) => [container.name, container]))
    for (const before of old.spec?.ephemeralContainers ?? []) {
      const after = byName.get(before.name)
      const named = `existing ephemeral containers ${JSON.stringify(before.name)} may not be`
      if (!after) errors.push(forbidden(path, `${named} removed\n`))
      else if (!deepEqual(before, after)) errors.push(forbidden(path, `${named} changed\n${specDiff(before, after)}`))
    }
    return errors
  },
}

/** Other resources for a pod that runs (KEP-1287). */
export const resizeDoor: StatusSubresource<Pod> = {
  type: 'part',
  verbs: DOOR_VERBS,
  prepareUpdate(draft, old) {
    keepAllButSpec(draft, old)
    const sent = draft.spec ?? { containers: [] }
    const kept = old.spec ?? { containers: [] }
    draft.spec = {
      ...kept,
      containers: withResourcesOf(kept.containers, sent.containers ?? []),
      ...(kept.initContainers && { initContainers: withResourcesOf(kept.initContainers, sent.initContainers ?? []) }),
    }
    if (sent.resources) draft.spec.resources = sent.resources
    raiseGeneration(draft, old)
  },
  validateUpdate(pod, old) {
    if (isMirror(old)) return [forbidden(OBJECT, 'static pods cannot be resized')]
    if (old.spec?.os?.name === 'windows') return [forbidden(OBJECT, 'windows pods cannot be resized')]
    const errors = validatePod(pod)
    const spec = pod.spec ?? { containers: [] }
    const oldSpec = old.spec ?? { containers: [] }
    if (qosClass(spec) !== (old.status?.qosClass ?? qosClass(oldSpec)))
      errors.push(invalid(SPEC, pod.status?.qosClass, 'Pod QOS Class may not change as a result of resizing'))
    checkRunning(old, errors)
    checkPodLevel(spec, oldSpec, errors)
    for (const field of ['initContainers', 'containers'] as const) checkContainers(spec, oldSpec, field, errors)
    return errors
  },
}

const isMirror = (pod: Pod) => pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined

function keepAllButSpec(draft: Pod, old: Pod): void {
  keepField(draft, old, 'metadata')
  // The registry may still write to the metadata, and the old object is shared.
  draft.metadata = { ...old.metadata, resourceVersion: draft.metadata.resourceVersion }
  keepField(draft, old, 'status')
}

/** Containers are matched by name; what is not a resource stays as it was. */
function withResourcesOf(kept: readonly Container[], sent: readonly Container[]): Container[] {
  // The first of a name counts.
  const byName = new Map(sent.toReversed().map((container) => [container.name, container]))
  return kept.map((container) => {
    const match = byName.get(container.name)
    if (!match) return container
    const { resizePolicy } = match
    return { ...container, resources: match.resources ?? {}, ...(resizePolicy && { resizePolicy }) }
  })
}

function checkRunning(old: Pod, errors: FieldError[]): void {
  const running = old.status?.containerStatuses?.find((status) => status.state?.running)
  if (running && !running.resources) errors.push(forbidden(SPEC, 'Pod running on node without support for resize'))
}

function checkPodLevel(spec: PodSpec, old: PodSpec, errors: FieldError[]): void {
  const before = old.resources
  if (!before) return
  const path = SPEC.child('resources')
  for (const field of ['requests', 'limits'] as const)
    if (isAnyRemoved(spec.resources?.[field], before[field]))
      errors.push(forbidden(path.child(field), `pod-level resource ${field} cannot be removed`))
  if (othersChanged(spec.resources, before))
    errors.push(forbidden(SPEC, 'only cpu and memory resources are mutable at pod-level'))
}

function checkContainers(
  spec: PodSpec,
  old: PodSpec,
  field: 'containers' | 'initContainers',
  errors: FieldError[],
): void {
  old[field]?.forEach((before, i) => {
    const after = spec[field]?.[i]
    if (!after) return
    const path = SPEC.child(field).index(i)
    for (const list of ['requests', 'limits'] as const)
      if (isAnyRemoved(after.resources?.[list], before.resources?.[list]))
        errors.push(forbidden(path.child('resources', list), `resource ${list} cannot be removed`))
    if (othersChanged(after.resources, before.resources)) errors.push(onlyComputeMutable(field, path))
    else if (field === 'initContainers' && before.restartPolicy !== 'Always')
      checkInitResize(after, before, path, errors)
  })
}

const onlyComputeMutable = (field: string, path: FieldPath) =>
  field === 'containers'
    ? forbidden(SPEC, 'only cpu and memory resources are mutable')
    : forbidden(path, 'only cpu and memory resources for init or sidecar containers are mutable')

function checkInitResize(after: Container, before: Container, path: FieldPath, errors: FieldError[]): void {
  if (deepEqual(after, before)) return
  if (after.resizePolicy?.some((policy) => policy.restartPolicy === 'RestartContainer'))
    errors.push(
      forbidden(path, 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'),
    )
}

const isAnyRemoved = (list: ResourceList | undefined, old: ResourceList | undefined) =>
  Object.keys(old ?? {}).some((name) => !list || !Object.hasOwn(list, name))

/** Whether anything but cpu and memory differs. */
function othersChanged(after: ResourceRequirements | undefined, before: ResourceRequirements | undefined): boolean {
  const others = (resources: ResourceRequirements | undefined) => ({
    requests: withoutCompute(resources?.requests),
    limits: withoutCompute(resources?.limits),
    claims: resources?.claims,
  })
  return !deepEqual(others(after), others(before))
}

function withoutCompute(list: ResourceList | undefined): ResourceList {
  const { cpu: _cpu, memory: _memory, ...others } = list ?? {}
  return others
}
