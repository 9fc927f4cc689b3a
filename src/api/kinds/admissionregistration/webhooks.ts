import type { MutatingWebhook, ValidatingWebhook } from '../../generated/admissionregistration-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabelSelector } from '../../meta/label-selector.ts'
import { isDns1035Label, isDns1123Subdomain } from '../../meta/names.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { validateMatchConditions } from './match-conditions.ts'
import { defaultRules, validateRule } from './rules.ts'
import { defaultWebhookClient, validateWebhookClient } from './webhook-client.ts'

/** What mutating and validating webhooks share. */
type Webhook = MutatingWebhook | ValidatingWebhook

const WEBHOOKS = FieldPath.root('webhooks')
const FAILURE_POLICIES = ['Fail', 'Ignore']
const MATCH_POLICIES = ['Equivalent', 'Exact']
const SIDE_EFFECTS = ['None', 'NoneOnDryRun']
const REVIEW_VERSIONS = ['v1', 'v1beta1']

export function defaultWebhooks(webhooks: readonly Webhook[] | undefined): void {
  for (const webhook of webhooks ?? []) {
    webhook.failurePolicy ??= 'Fail'
    webhook.matchPolicy ??= 'Equivalent'
    webhook.namespaceSelector ??= {}
    webhook.objectSelector ??= {}
    webhook.timeoutSeconds ??= 10
    defaultRules(webhook.rules)
    defaultWebhookClient(webhook.clientConfig)
  }
}

export function validateWebhooks(webhooks: readonly Webhook[] | undefined): FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  webhooks?.forEach((webhook, index) => {
    const path = WEBHOOKS.index(index)
    errors.push(...validateWebhook(webhook, path))
    if (webhook.name && names.has(webhook.name)) errors.push(duplicate(path.child('name'), webhook.name))
    names.add(webhook.name)
  })
  return errors
}

function validateWebhook(webhook: Webhook, path: FieldPath): FieldError[] {
  const errors = validateFullName(webhook.name ?? '', path.child('name'))
  webhook.rules?.forEach((rule, index) => {
    errors.push(...validateRule(rule, path.child('rules').index(index)))
  })
  errors.push(...oneOf(webhook.failurePolicy, FAILURE_POLICIES, path.child('failurePolicy')))
  errors.push(...oneOf(webhook.matchPolicy, MATCH_POLICIES, path.child('matchPolicy')))
  if (webhook.sideEffects === undefined)
    errors.push(required(path.child('sideEffects'), `must specify one of ${SIDE_EFFECTS.join(', ')}`))
  errors.push(...oneOf(webhook.sideEffects, SIDE_EFFECTS, path.child('sideEffects')))
  const timeout = webhook.timeoutSeconds
  if (timeout !== undefined && (timeout < 1 || timeout > 30))
    errors.push(invalid(path.child('timeoutSeconds'), timeout, 'the timeout value must be between 1 and 30 seconds'))
  errors.push(...validateLabelSelector(webhook.namespaceSelector, path.child('namespaceSelector')))
  errors.push(...validateLabelSelector(webhook.objectSelector, path.child('objectSelector')))
  errors.push(...validateWebhookClient(webhook.clientConfig ?? {}, path.child('clientConfig')))
  errors.push(...validateReviewVersions(webhook.admissionReviewVersions ?? [], path.child('admissionReviewVersions')))
  errors.push(...validateMatchConditions(webhook.matchConditions, path.child('matchConditions')))
  return errors
}

export function oneOf(value: string | undefined, supported: readonly string[], path: FieldPath): FieldError[] {
  return value === undefined || supported.includes(value) ? [] : [notSupported(path, value, supported)]
}

function validateFullName(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path)]
  const wrong = isDns1123Subdomain(name)
  if (wrong.length > 0) return [invalid(path, name, wrong.join(','))]
  return name.split('.').length < 3
    ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : []
}

/** Shared with the conversion webhooks of custom resources. */
export function validateReviewVersions(versions: readonly string[], path: FieldPath): FieldError[] {
  if (versions.length === 0) return [required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)]
  const errors: FieldError[] = []
  const isRepeated = seenBefore<string>()
  versions.forEach((version, index) => {
    if (isRepeated(version)) errors.push(invalid(path.index(index), version, 'duplicate version'))
    else for (const message of isDns1035Label(version)) errors.push(invalid(path.index(index), version, message))
  })
  if (!versions.some((version) => REVIEW_VERSIONS.includes(version)))
    errors.push(invalid(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`))
  return errors
}
