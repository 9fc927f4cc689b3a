import type {
  MutatingAdmissionPolicy,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
} from '../../api/generated/admissionregistration-v1.ts'
import { invalidObject } from '../../api/meta/api-error.ts'
import { type FieldError, invalid } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { inTurns } from '../../base/take-turn.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'
import { type ParamPermissionContext, paramProblems } from './policy/param-permission.ts'

const WEBHOOKS = FieldPath.root('webhooks')

/** Expressions of webhooks and policies must compile, and who writes a policy must be able to read its parameters. */
export function registrationChecks(context: ParamPermissionContext): AdmissionPlugin {
  return {
    name: 'AdmissionRegistrationChecks',
    validate(request) {
      const { kind, subresource, draft, name } = request
      if (kind.group !== 'admissionregistration.k8s.io' || subresource !== '' || !draft) return
      return findProblems(context, request).then((errors) => {
        if (errors.length > 0) throw invalidObject(kind, name, errors)
      })
    },
  }
}

/** What was let in once stays. */
async function findProblems(context: ParamPermissionContext, request: AdmissionRequest): Promise<FieldError[]> {
  const { kind, draft, old } = request
  switch (kind.plural) {
    case 'mutatingwebhookconfigurations':
    case 'validatingwebhookconfigurations':
      return webhookProblems(draft!, old)
    case 'validatingadmissionpolicies':
    case 'mutatingadmissionpolicies':
      return [...(await policyProblems(kind.plural, draft!, old)), ...(await paramProblems(context, request))]
    default:
      return paramProblems(context, request)
  }
}

async function webhookProblems(draft: KubernetesObject, old: KubernetesObject | undefined): Promise<FieldError[]> {
  const conditionsOf = (configuration: KubernetesObject | undefined) =>
    ((configuration as MutatingWebhookConfiguration | undefined)?.webhooks ?? []).map(
      ({ matchConditions = [] }) => matchConditions,
    )
  const all = conditionsOf(draft)
  if (all.every((conditions) => conditions.length === 0)) return []
  const known = new Set(conditionsOf(old).flatMap((conditions) => conditions.map(({ expression }) => expression)))
  const { CONDITION_VARIABLES, isCelFailure, loadExpressions } = await import('./matching/expressions.ts')
  const expressions = await loadExpressions()
  const check = (expression: string, path: FieldPath): FieldError[] => {
    try {
      if (!known.has(expression)) expressions.compile(expression, CONDITION_VARIABLES, ['bool'])
      return []
    } catch (error) {
      if (!isCelFailure(error)) throw error
      return [invalid(path.child('expression'), expression, error.message)]
    }
  }
  function* checks() {
    for (const [i, conditions] of all.entries())
      for (const [j, { expression }] of conditions.entries())
        yield check(expression, WEBHOOKS.index(i).child('matchConditions').index(j))
  }
  return inTurns(checks())
}

async function policyProblems(
  plural: string,
  draft: KubernetesObject,
  old: KubernetesObject | undefined,
): Promise<FieldError[]> {
  const { expressionProblems, mutatingExpressions, validatingExpressions } = await import(
    './policy/check-expressions.ts'
  )
  const { loadExpressions } = await import('./matching/expressions.ts')
  const expressions = await loadExpressions()
  const found = (policy: KubernetesObject) =>
    plural === 'mutatingadmissionpolicies'
      ? mutatingExpressions(expressions, (policy as MutatingAdmissionPolicy).spec ?? {})
      : validatingExpressions(expressions, (policy as ValidatingAdmissionPolicy).spec ?? {})
  const known = new Set(old ? found(old).map(({ expression }) => expression.text) : [])
  return expressionProblems(found(draft), known)
}
