import type { CustomResourceColumnDefinition } from '../../api/generated/apiextensions-v1.ts'
import type { Column } from '../../api/kind.ts'
import { ageColumn, nameColumn } from '../../api/kinds/core/printed-columns.ts'
import { age } from '../../api/meta/time.ts'
import { findAll, type JsonPath, parseJsonPath } from './json-path.ts'

const AGE: Column = { ...ageColumn, type: 'date' }

/** The columns of a custom kind: its name and what its author wants to see, or else its age. */
export function columnsOf(definitions: readonly CustomResourceColumnDefinition[] | undefined): Column[] {
  if (!definitions?.length) return [nameColumn, AGE]
  return [nameColumn, ...definitions.map(columnOf)]
}

function columnOf(definition: CustomResourceColumnDefinition): Column {
  const { name, format, description, priority = 0, jsonPath } = definition
  const type = definition.type as Column['type']
  const path = parsed(jsonPath)
  return {
    name,
    type,
    ...(format && { format }),
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
    value(object, now) {
      const [first] = path === undefined ? [] : findAll(path, object)
      return cell(first, type, now)
    },
  }
}

/** A path that nobody understands leaves its column empty, as objects must stay readable. */
function parsed(text: string): JsonPath | undefined {
  try {
    return parseJsonPath(text)
  } catch {
    return undefined
  }
}

function cell(value: unknown, type: Column['type'], now: number): string | number | boolean | null {
  if (value === undefined || value === null) return null
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date': {
      if (typeof value !== 'string') return null
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : age(value, now)
    }
    default:
      return typeof value === 'string' ? value : JSON.stringify(value)
  }
}
