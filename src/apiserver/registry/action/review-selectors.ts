import type { FieldSelectorAttributes, LabelSelectorAttributes } from '../../../api/generated/authorization-v1.ts'
import { formatFieldSelector } from '../../../api/meta/field-selector.ts'

interface SelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** The selector of a review as the text of a query. What cannot be said so is left out: less is then granted. */
export function selectorText(selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined): string {
  if (!selector) return ''
  if (selector.rawSelector) return selector.rawSelector
  return (selector.requirements ?? []).map(requirementText).filter(Boolean).join(',')
}

/** Of fields only equality is known; `In` one value is equality. */
function requirementText({ key, operator, values = [] }: SelectorRequirement): string {
  const [value = ''] = values
  if (operator === 'In' && values.length === 1) return formatFieldSelector([{ field: key, operator: '=', value }])
  if (operator === 'NotIn' && values.length === 1) return formatFieldSelector([{ field: key, operator: '!=', value }])
  if (operator === 'In' || operator === 'NotIn') return `${key} ${operator.toLowerCase()} (${values.join(',')})`
  if (operator === 'Exists') return key
  return operator === 'DoesNotExist' ? `!${key}` : ''
}
