import type { PodSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import type { LabelSelector } from '../../../meta/label-selector.ts'
import { validateLabelName } from '../../../meta/labels-validation.ts'

interface WithLabelKeys {
  readonly labelSelector?: LabelSelector
  readonly matchLabelKeys?: readonly string[]
  readonly mismatchLabelKeys?: readonly string[]
}

/** Keys whose value is taken from the pod itself and merged into the selector when the pod is created. */
export function validateMatchLabelKeys(term: WithLabelKeys, path: FieldPath, errors: FieldError[]): void {
  const { matchLabelKeys, mismatchLabelKeys } = term
  checkKeys(matchLabelKeys, term.labelSelector, path.child('matchLabelKeys'), errors)
  checkKeys(mismatchLabelKeys, term.labelSelector, path.child('mismatchLabelKeys'), errors)
  const mismatched = new Set(mismatchLabelKeys)
  matchLabelKeys?.forEach((key, i) => {
    if (mismatched.has(key))
      errors.push(
        invalid(path.child('matchLabelKeys').index(i), key, 'exists in both matchLabelKeys and mismatchLabelKeys'),
      )
  })
}

function checkKeys(
  keys: readonly string[] | undefined,
  selector: LabelSelector | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (!keys?.length) return
  if (!selector) {
    errors.push(forbidden(path, 'must not be specified when labelSelector is not set'))
    return
  }
  keys.forEach((key, i) => {
    errors.push(...validateLabelName(key, path.index(i)))
  })
}

type PodTerm = WithLabelKeys & {
  labelSelector?: { matchLabels?: Record<string, string>; matchExpressions?: Expression[] }
}
interface Expression {
  key: string
  operator: string
  values?: string[]
}

/** Takes the values of the keys from the pod's labels, once, when it is created (KEP-3633, KEP-3243). */
export function mergeMatchLabelKeys(spec: PodSpec, labels: Readonly<Record<string, string>> | undefined): void {
  for (const affinity of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    for (const term of affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(term, labels)
    for (const weighted of affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      if (weighted.podAffinityTerm) mergeTerm(weighted.podAffinityTerm, labels)
  }
  for (const constraint of spec.topologySpreadConstraints ?? []) mergeTerm(constraint, labels)
}

function mergeTerm(term: PodTerm, labels: Readonly<Record<string, string>> | undefined): void {
  const selector = term.labelSelector
  if (!selector) return
  const merge = (keys: readonly string[] | undefined, operator: string) => {
    for (const key of keys ?? []) {
      if (!labels || !Object.hasOwn(labels, key)) continue
      selector.matchExpressions ??= []
      selector.matchExpressions.push({ key, operator, values: [labels[key]!] })
    }
  }
  merge(term.matchLabelKeys, 'In')
  merge(term.mismatchLabelKeys, 'NotIn')
}
