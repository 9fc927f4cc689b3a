import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
} from '../../../generated/apiextensions-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isDns1035Label, isDns1123Subdomain } from '../../../meta/names.ts'
import { validateWebhookClient } from '../../admissionregistration/webhook-client.ts'
import { validateReviewVersions } from '../../admissionregistration/webhooks.ts'
import { validateVersions } from './versions.ts'

const SPEC = FieldPath.root('spec')
const NAMES = SPEC.child('names')
const METADATA = FieldPath.root('metadata')
const APPROVAL = 'api-approved.kubernetes.io'
const PROTECTED_GROUP = /(^|\.)(k8s|kubernetes)\.io$/

export function validateDefinition({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  if (!spec) return [required(SPEC)]
  const errors: FieldError[] = []
  if (metadata.name && metadata.name !== `${spec.names?.plural ?? ''}.${spec.group ?? ''}`)
    errors.push(invalid(METADATA.child('name'), metadata.name, 'must be spec.names.plural+"."+spec.group'))
  errors.push(...validateGroup(spec.group ?? ''))
  if (!spec.scope) errors.push(required(SPEC.child('scope')))
  else if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced')
    errors.push(notSupported(SPEC.child('scope'), spec.scope, ['Cluster', 'Namespaced']))
  errors.push(...validateVersions(spec.versions ?? [], SPEC.child('versions')))
  errors.push(...validateNames(spec.names), ...validateConversion(spec))
  if (spec.preserveUnknownFields)
    errors.push(
      invalid(
        SPEC.child('preserveUnknownFields'),
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    )
  if (PROTECTED_GROUP.test(spec.group ?? '') && !metadata.annotations?.[APPROVAL])
    errors.push(
      required(
        METADATA.child('annotations').key(APPROVAL),
        `protected groups must have approval annotation "${APPROVAL}", see https://github.com/kubernetes/enhancements/pull/1111`,
      ),
    )
  return errors
}

function validateGroup(group: string): FieldError[] {
  const path = SPEC.child('group')
  if (group === '') return [required(path)]
  const wrong = isDns1123Subdomain(group)
  if (wrong.length > 0) return [invalid(path, group, wrong.join(','))]
  return group.includes('.') ? [] : [invalid(path, group, 'should be a domain with at least one dot')]
}

function validateNames(names: CustomResourceDefinitionNames | undefined): FieldError[] {
  const errors: FieldError[] = []
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names?.[field]) errors.push(required(NAMES.child(field)))
  for (const field of ['plural', 'singular'] as const) errors.push(...validateLabel(names?.[field], NAMES.child(field)))
  for (const field of ['kind', 'listKind'] as const) {
    const name = names?.[field]
    const wrong = name ? isDns1035Label(name.toLowerCase()) : []
    const message = `may have mixed case, but should otherwise match: ${wrong.join(',')}`
    if (wrong.length > 0) errors.push(invalid(NAMES.child(field), name, message))
  }
  for (const field of ['shortNames', 'categories'] as const)
    names?.[field]?.forEach((name, index) => {
      const wrong = isDns1035Label(name)
      if (wrong.length > 0) errors.push(invalid(NAMES.child(field).index(index), name, wrong.join(',')))
    })
  if (names?.kind && names.kind === names.listKind)
    errors.push(invalid(NAMES.child('listKind'), names.listKind, 'kind and listKind may not be the same'))
  return errors
}

function validateLabel(name: string | undefined, path: FieldPath): FieldError[] {
  const wrong = name ? isDns1035Label(name) : []
  return wrong.length > 0 ? [invalid(path, name, wrong.join(','))] : []
}

/** Paths here are those of the older API version, which is what upstream reports. */
function validateConversion({ conversion }: CustomResourceDefinitionSpec): FieldError[] {
  if (!conversion) return []
  const path = SPEC.child('conversion')
  const { strategy = '', webhook } = conversion
  if (strategy === '') return [required(path.child('strategy'))]
  if (strategy !== 'None' && strategy !== 'Webhook')
    return [notSupported(path.child('strategy'), strategy, ['None', 'Webhook'])]
  if (strategy === 'None') {
    const unused = 'should not be set when strategy is not set to Webhook'
    const errors: FieldError[] = []
    if (webhook?.clientConfig) errors.push(forbidden(path.child('webhookClientConfig'), unused))
    if (webhook?.conversionReviewVersions?.length)
      errors.push(forbidden(path.child('conversionReviewVersions'), unused))
    return errors
  }
  const client = path.child('webhookClientConfig')
  return [
    ...(webhook?.clientConfig
      ? validateWebhookClient(webhook.clientConfig, client)
      : [required(client, 'required when strategy is set to Webhook')]),
    ...validateReviewVersions(webhook?.conversionReviewVersions ?? [], path.child('conversionReviewVersions')),
  ]
}
