import type { Kind, Subresource } from '../../api/kind.ts'
import { invalidObject } from '../../api/meta/api-error.ts'
import { limitErrors } from '../../api/meta/error-limit.ts'
import type { FieldError } from '../../api/meta/field-error.ts'
import { nameIsDnsSubdomain } from '../../api/meta/names.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import {
  type ObjectMetaRules,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../api/meta/object-meta-validation.ts'

/** Groups whose kinds upstream checks like custom resources. */
const ANY_FINALIZER = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
])

function metaRules(kind: Kind): ObjectMetaRules {
  return {
    namespaced: kind.namespaced,
    validateName: kind.validateName ?? nameIsDnsSubdomain,
    standardFinalizersOnly: !kind.isCustom && !ANY_FINALIZER.has(kind.group),
  }
}

export function validateNew(kind: Kind, object: KubernetesObject): void {
  refuse(kind, object, () => {
    const errors = validateObjectMeta(object.metadata, metaRules(kind))
    if (kind.validate) errors.push(...kind.validate(object))
    return errors
  })
}

export function validateChanged(
  kind: Kind,
  subresource: Subresource | undefined,
  object: KubernetesObject,
  old: KubernetesObject,
): void {
  refuse(kind, object, () => {
    const errors = validateObjectMetaUpdate(object.metadata, old.metadata, metaRules(kind))
    if (subresource?.type === 'part' && subresource.validateUpdate) {
      errors.push(...subresource.validateUpdate(object, old))
    } else if (subresource?.type !== 'action') {
      if (kind.validate && !kind.wholeUpdateValidation) errors.push(...kind.validate(object))
      if (kind.validateUpdate) errors.push(...kind.validateUpdate(object, old))
    }
    return errors
  })
}

function refuse(kind: Kind, object: KubernetesObject, validate: () => FieldError[]): void {
  const errors = limitErrors(validate)
  if (errors.length > 0) throw invalidObject(kind, object.metadata.name ?? '', errors)
}
