import type { Pod, PodSpec, PodTemplateSpec } from '../../../generated/core-v1.ts'
import type { FieldError } from '../../../meta/field-error.ts'
import { forbidden, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateLabels } from '../../../meta/labels-validation.ts'
import { isQualifiedName } from '../../../meta/names.ts'
import { validatePodAnnotations } from './annotations-validation.ts'
import { refuse } from './pod-check.ts'
import { validatePodSpec } from './spec-validation.ts'

const SPEC = FieldPath.root('spec')
const ANNOTATIONS = FieldPath.root('metadata').child('annotations')

/** Rules for a pod that hold at any time. */
export function validatePod(pod: Pod): FieldError[] {
  const errors: FieldError[] = []
  const spec = pod.spec ?? { containers: [] }
  validatePodAnnotations(pod.metadata.annotations, spec, ANNOTATIONS, errors)
  validatePodSpec(spec, SPEC, true, errors)
  checkTokensHaveAccount(spec, errors)
  checkImageSpaces(spec, 'containers', errors)
  checkImageSpaces(spec, 'initContainers', errors)
  checkDoors(pod, spec, errors)
  return errors
}

/** Ephemeral containers and nodes come through doors of their own. The first raises the generation. */
function checkDoors(pod: Pod, spec: PodSpec, errors: FieldError[]): void {
  if (spec.ephemeralContainers?.length && (pod.metadata.generation ?? 1) <= 1)
    errors.push(forbidden(SPEC.child('ephemeralContainers'), 'cannot be set on create'))
  if (spec.nodeName && spec.schedulingGates?.length)
    errors.push(forbidden(SPEC.child('nodeName'), 'cannot be set until all schedulingGates have been cleared'))
}

function checkTokensHaveAccount(spec: PodSpec, errors: FieldError[]): void {
  if (spec.serviceAccountName) return
  spec.volumes?.forEach((volume, i) => {
    volume.projected?.sources?.forEach((source, j) => {
      if (!source.serviceAccountToken) return
      const path = SPEC.child('volumes').index(i).child('projected', 'sources').index(j).child('serviceAccountToken')
      errors.push(forbidden(path, 'must not be specified when serviceAccountName is not set'))
    })
  })
}

export function checkImageSpaces(spec: PodSpec, field: 'containers' | 'initContainers', errors: FieldError[]): void {
  const containers = spec[field]
  for (let i = 0; i < (containers?.length ?? 0); i++) {
    const image = containers![i]!.image ?? ''
    if (image !== image.trim())
      errors.push(
        invalid(SPEC.child(field).index(i).child('image'), image, 'must not have leading or trailing whitespace'),
      )
  }
}

/** The template of a workload, at `path` (`spec.template`). */
export function validatePodTemplate(
  template: PodTemplateSpec | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  const metadata = template?.metadata
  const spec = template?.spec ?? { containers: [] }
  errors.push(...validateLabels(metadata?.labels, path.child('labels')))
  checkAnnotationKeys(metadata?.annotations, path.child('annotations'), errors)
  validatePodAnnotations(metadata?.annotations, spec, path.child('annotations'), errors)
  validatePodSpec(spec, path.child('spec'), false, errors)
  if (spec.ephemeralContainers?.length)
    errors.push(
      forbidden(path.child('spec', 'ephemeralContainers'), 'ephemeral containers not allowed in pod template'),
    )
}

export function checkAnnotationKeys(
  annotations: Record<string, string> | undefined,
  path: FieldPath,
  errors: FieldError[],
) {
  for (const key in annotations) refuse(errors, path, key, isQualifiedName(key.toLowerCase()))
}
