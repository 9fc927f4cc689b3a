import type { PodTemplateSpec } from '../../generated/core-v1.ts'
import type { LabelSelector } from '../../generated/meta-v1.ts'
import type { ScaleSubresource } from '../../kind.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { formatSelector, matchesLabels, selectsEverything } from '../../meta/label-selector.ts'
import type { KubernetesObject } from '../../meta/object.ts'
import { compiledSelector, isEmptySelector, validateSelector } from '../core/pod/label-selectors.ts'
import { checkNotNegative } from '../core/pod/pod-check.ts'
import { validatePodTemplate } from '../core/pod/validation.ts'

/** What the kinds that keep pods running have in common. */

/** The selector of a workload: there, well formed, and not of everything. `kind` names it in the message. */
export function checkWorkloadSelector(
  selector: LabelSelector | undefined,
  kind: string,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (!selector) {
    errors.push(required(path))
    return
  }
  validateSelector(selector, path, errors)
  if (isEmptySelector(selector)) errors.push(invalid(path, selector, `empty selector is invalid for ${kind}`))
}

/** Pods made from the template must be found again by the selector. */
export function checkTemplateLabels(
  template: PodTemplateSpec | undefined,
  selector: LabelSelector | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  const compiled = compiledSelector(selector)
  if (!compiled || selectsEverything(compiled)) return
  const labels = template?.metadata?.labels
  if (!matchesLabels(compiled, labels))
    errors.push(invalid(path.child('metadata', 'labels'), labels ?? {}, '`selector` does not match template `labels`'))
}

/** A template whose pods are kept running; `kind` names the workload in the message. */
export function checkRunningTemplate(
  template: PodTemplateSpec | undefined,
  kind: string,
  path: FieldPath,
  errors: FieldError[],
): void {
  validatePodTemplate(template, path, errors)
  const spec = template?.spec
  if (spec?.restartPolicy !== 'Always')
    errors.push(notSupported(path.child('spec', 'restartPolicy'), spec?.restartPolicy ?? '', ['Always']))
  if (spec?.activeDeadlineSeconds !== undefined)
    errors.push(
      forbidden(path.child('spec', 'activeDeadlineSeconds'), `activeDeadlineSeconds in ${kind} is not Supported`),
    )
}

/** Counts in a status: never negative, and some never more than others. */
export function checkStatusCounts<S extends object>(
  status: S,
  path: FieldPath,
  counts: readonly (keyof S & string)[],
  limits: readonly (readonly [part: keyof S & string, whole: keyof S & string, message: string])[],
): FieldError[] {
  const errors: FieldError[] = []
  const count = (field: keyof S & string) => (status[field] as number | undefined) ?? 0
  for (const field of counts) checkNotNegative(errors, path, field, count(field))
  for (const [part, whole, message] of limits)
    if (count(part) > count(whole)) errors.push(invalid(path.child(part), count(part), message))
  return errors
}

type Scalable = KubernetesObject & {
  spec?: { replicas?: number; selector?: LabelSelector }
  status?: { replicas?: number }
}

/** The `scale` door of a kind with replicas and a selector. */
export function replicaScale<T extends Scalable>(): ScaleSubresource<T> {
  return {
    type: 'scale',
    replicas: (object) => object.spec?.replicas ?? 0,
    setReplicas(draft, replicas) {
      if (draft.spec) draft.spec.replicas = replicas
    },
    statusReplicas: (object) => object.status?.replicas ?? 0,
    selector: (object) => {
      const selector = compiledSelector(object.spec?.selector)
      return selector ? formatSelector(selector) : ''
    },
  }
}
