import type { MatchCondition, MutatingWebhookConfiguration } from '../../api/generated/admissionregistration-v1.ts'
import { invalidObject } from '../../api/meta/api-error.ts'
import { type FieldError, invalid } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

type ExpressionsModule = typeof import('./matching/expressions.ts')

/** Expressions of webhooks and policies must compile. What was let in once stays. */
export const registrationChecks: AdmissionPlugin = {
  name: 'AdmissionRegistrationChecks',
  validate(request) {
    const { kind, subresource, draft, name } = request
    if (kind.group !== 'admissionregistration.k8s.io' || subresource !== '' || !draft) return
    return findProblems(request).then((errors) => {
      if (errors.length > 0) throw invalidObject(kind, name, errors)
    })
  },
}

async function findProblems({ kind, draft, old }: AdmissionRequest): Promise<FieldError[]> {
  if (kind.plural.endsWith('webhookconfigurations')) return webhookProblems(draft!, old)
  return []
}

async function webhookProblems(draft: object, old: object | undefined): Promise<FieldError[]> {
  const conditionsOf = (configuration: object | undefined) =>
    ((configuration as MutatingWebhookConfiguration | undefined)?.webhooks ?? []).map(
      ({ matchConditions = [] }) => matchConditions,
    )
  const all = conditionsOf(draft)
  if (all.every((conditions) => conditions.length === 0)) return []
  const known = new Set(conditionsOf(old).flatMap((conditions) => conditions.map(({ expression }) => expression)))
  const expressions = await import('./matching/expressions.ts')
  const { compile } = await conditionCompiler(expressions)
  return all.flatMap((conditions, i) =>
    conditions.flatMap((condition, j) => {
      const path = FieldPath.root('webhooks').index(i).child('matchConditions').index(j)
      return known.has(condition.expression) ? [] : compile(condition, path)
    }),
  )
}

async function conditionCompiler({ CONDITION_VARIABLES, isCelFailure, loadExpressions }: ExpressionsModule) {
  const expressions = await loadExpressions()
  return {
    compile({ expression }: MatchCondition, path: FieldPath): FieldError[] {
      try {
        expressions.compile(expression, CONDITION_VARIABLES, ['bool'])
        return []
      } catch (error) {
        if (!isCelFailure(error)) throw error
        return [invalid(path.child('expression'), expression, error.message)]
      }
    },
  }
}
