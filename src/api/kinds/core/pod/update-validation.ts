import { deepEqual } from '../../../../base/deep-equal.ts'
import type { Container, NodeSelectorTerm, Pod, PodSpec, Toleration } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { rangeMessage } from '../../../meta/names.ts'
import { validateAnnotationUpdate } from './annotations-validation.ts'
import { specDiff } from './spec-diff.ts'

const SPEC = FieldPath.root('spec')
const ANNOTATIONS = FieldPath.root('metadata').child('annotations')
const MAX_INT32 = 2147483647
const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** A pod that exists may change in few ways only: its containers have been started with the rest. */
export function validatePodUpdate(pod: Pod, old: Pod): FieldError[] {
  const errors: FieldError[] = []
  const spec = pod.spec ?? { containers: [] }
  const oldSpec = old.spec ?? { containers: [] }
  validateAnnotationUpdate(pod, old, ANNOTATIONS, errors)
  if (spec === oldSpec) return errors
  for (const field of ['containers', 'initContainers'] as const)
    if (!checkContainerChange(spec[field], oldSpec[field], SPEC.child(field), errors)) return errors
  if (!checkDeadline(spec, oldSpec, errors)) return errors
  checkTolerations(spec.tolerations ?? [], oldSpec.tolerations ?? [], errors)
  checkSchedulingGates(spec, oldSpec, errors)
  if (deepEqual(spec, oldSpec)) return errors
  const rest = withoutAllowedChanges(spec, oldSpec, errors)
  if (!deepEqual(rest, oldSpec))
    errors.push(
      forbidden(SPEC, `pod updates may not change fields other than ${UPDATABLE}\n${specDiff(oldSpec, rest)}`),
    )
  return errors
}

/** False when the rest of the comparison would make no sense. */
function checkContainerChange(
  containers: readonly Container[] | undefined,
  old: readonly Container[] | undefined,
  path: FieldPath,
  errors: FieldError[],
): boolean {
  if ((containers?.length ?? 0) !== (old?.length ?? 0)) {
    errors.push(forbidden(path, 'pod updates may not add or remove containers'))
    return false
  }
  containers?.forEach((container, i) => {
    if (!container.image) errors.push(required(path.index(i).child('image')))
  })
  return true
}

function checkDeadline(spec: PodSpec, old: PodSpec, errors: FieldError[]): boolean {
  const path = SPEC.child('activeDeadlineSeconds')
  const deadline = spec.activeDeadlineSeconds
  const before = old.activeDeadlineSeconds
  if (deadline === undefined) {
    if (before !== undefined) errors.push(invalid(path, null, 'must not update from a positive integer to nil value'))
    return true
  }
  if (deadline < 0 || deadline > MAX_INT32) errors.push(invalid(path, deadline, rangeMessage(0, MAX_INT32)))
  else if (before !== undefined && before < deadline)
    errors.push(invalid(path, deadline, 'must be less than or equal to previous value'))
  else return true
  return false
}

function checkTolerations(tolerations: readonly Toleration[], old: readonly Toleration[], errors: FieldError[]): void {
  if (tolerations === old) return
  const now = new Set(tolerations.map(fixedPart))
  if (!old.every((toleration) => now.has(fixedPart(toleration))))
    errors.push(
      forbidden(SPEC.child('tolerations'), 'existing toleration can not be modified except its tolerationSeconds'),
    )
}

/** All of a toleration but what may change. */
const fixedPart = ({ key, operator, value, effect }: Toleration) => JSON.stringify([key, operator, value, effect])

function checkSchedulingGates(spec: PodSpec, old: PodSpec, errors: FieldError[]): void {
  const known = new Set(old.schedulingGates?.map((gate) => gate.name))
  spec.schedulingGates?.forEach((gate, i) => {
    if (known.has(gate.name)) return
    errors.push(
      forbidden(
        SPEC.child('schedulingGates').index(i).child('name'),
        `only deletion is allowed, but found new scheduling gate '${gate.name}'`,
      ),
    )
  })
}

/** The new spec with every allowed change taken back: what still differs was not allowed. */
function withoutAllowedChanges(spec: PodSpec, old: PodSpec, errors: FieldError[]): PodSpec {
  const rest: PodSpec = { ...spec, containers: withImagesOf(spec.containers, old.containers)! }
  rest.initContainers = withImagesOf(spec.initContainers, old.initContainers)
  rest.activeDeadlineSeconds = old.activeDeadlineSeconds
  rest.schedulingGates = old.schedulingGates
  rest.tolerations = old.tolerations
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1)
    rest.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds
  // While no node was looked for, the choice of nodes may still be narrowed.
  if (old.schedulingGates?.length) takeBackNarrowing(rest, old, errors)
  return rest
}

const withImagesOf = (containers: Container[] | undefined, old: Container[] | undefined) =>
  containers?.map((container, i) => ({ ...container, image: old?.[i]?.image }))

function takeBackNarrowing(rest: PodSpec, old: PodSpec, errors: FieldError[]): void {
  checkSelectorNarrowing(rest, old, errors)
  rest.nodeSelector = old.nodeSelector
  const before = old.affinity?.nodeAffinity
  if (deepEqual(rest.affinity?.nodeAffinity, before)) return
  checkTermsNarrowing(termsOf(rest), termsOf(old), errors)
  const affinity = { ...rest.affinity, nodeAffinity: before }
  const isEmpty = Object.values(affinity).every((part) => part === undefined)
  rest.affinity = isEmpty && old.affinity === undefined ? undefined : affinity
}

function checkSelectorNarrowing({ nodeSelector }: PodSpec, old: PodSpec, errors: FieldError[]): void {
  const isKept = Object.entries(old.nodeSelector ?? {}).every(([label, value]) => nodeSelector?.[label] === value)
  if (isKept) return
  const text = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
  errors.push(invalid(SPEC.child('nodeSelector'), nodeSelector, text))
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const TERMS = SPEC.child('affinity', 'nodeAffinity', REQUIRED, 'nodeSelectorTerms')
const termsOf = ({ affinity }: PodSpec) => affinity?.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms ?? []

/** Terms are alternatives: another one would widen the choice. Where there was none, any may come. */
function checkTermsNarrowing(
  terms: readonly NodeSelectorTerm[],
  old: readonly NodeSelectorTerm[],
  errors: FieldError[],
): void {
  if (old.length === 0) return
  if (terms.length !== old.length)
    errors.push(invalid(TERMS, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'))
  else
    for (const [i, term] of terms.entries())
      if (!narrows(term, old[i]!))
        errors.push(invalid(TERMS.index(i), term, 'only additions are allowed (no mutations or deletions)'))
}

const requirementsOf = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) => [
  matchExpressions,
  matchFields,
]

/** Requirements of a term must all hold: one more, behind those that were, narrows it. An empty term selects nothing. */
function narrows(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const [after, before] = [requirementsOf(term), requirementsOf(old)]
  if (before.flat().length === 0) return after.flat().length === 0
  return before.every((list, which) => list.every((one, i) => deepEqual(one, after[which]![i])))
}
