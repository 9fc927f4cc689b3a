import type {
  ExpressionWarning,
  NamedRuleWithOperations,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/admissionregistration-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import { apiVersionOf, parseApiVersion } from '../../../api/meta/object.ts'
import type { CelType } from '../../../cel/types.ts'
import type { KindTable } from '../../kind-table.ts'
import type { Expressions } from '../matching/expressions.ts'
import { typeOfSchema } from './schema-type.ts'
import { compileValidatingPolicy } from './validation.ts'

const MAX_KINDS = 10

/** What cannot work on objects of the kinds that a policy is about, although it compiles. */
export function typeWarnings(
  expressions: Expressions,
  kinds: KindTable,
  spec: ValidatingAdmissionPolicySpec,
): ExpressionWarning[] {
  const warnings = new Map<string, string[]>()
  const params = paramType(kinds, spec)
  for (const kind of namedKinds(kinds, spec.matchConstraints?.resourceRules ?? [])) {
    const object = typeOfSchema(kind.schema)
    const types = new Map<string, CelType>([['object', object], ['oldObject', object], ...params])
    const note = (field: string, program: unknown) => {
      if (!(program instanceof Error)) return
      const text = `${apiVersionOf(kind)}, Kind=${kind.kind}: ${program.message.replace(/^compilation failed: /, '')}`
      warnings.set(field, [...(warnings.get(field) ?? []), text])
    }
    compileValidatingPolicy(expressions, spec, types).validations.forEach(({ check, message }, i) => {
      note(`spec.validations[${i}].expression`, check.program)
      note(`spec.validations[${i}].messageExpression`, message?.program)
    })
  }
  return [...warnings].map(([fieldRef, texts]) => ({ fieldRef, warning: texts.join('\n') }))
}

function paramType(kinds: KindTable, { paramKind }: ValidatingAdmissionPolicySpec): [string, CelType][] {
  const { group, version } = parseApiVersion(paramKind?.apiVersion ?? '')
  const kind = paramKind && kinds.byKind(group, version, paramKind.kind ?? '')
  return kind ? [['params', typeOfSchema(kind.schema)]] : []
}

/** The kinds that rules name; stars name none. */
function namedKinds(kinds: KindTable, rules: readonly NamedRuleWithOperations[]): Kind[] {
  const found = new Set<Kind>()
  for (const { apiGroups = [], apiVersions = [], resources = [] } of rules)
    for (const group of apiGroups)
      for (const version of apiVersions)
        for (const resource of resources) {
          const kind = kinds.byResource(group, version, resource)
          if (kind && found.size < MAX_KINDS) found.add(kind)
        }
  return [...found]
}
