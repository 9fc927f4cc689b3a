import { deepEqual } from '../../../../base/deep-equal.ts'

const MAX_LINES = 60

/** What differs between two objects, a line per field: `-` was, `+` would be. For people, in error messages. */
export function specDiff(before: object, after: object): string {
  const lines: string[] = []
  describe(before, after, '', lines)
  if (lines.length > MAX_LINES) lines.splice(MAX_LINES, lines.length, '  ...')
  return `${lines.join('\n')}\n`
}

function describe(before: unknown, after: unknown, indent: string, lines: string[]): void {
  const left = before as Record<string, unknown>
  const right = after as Record<string, unknown>
  for (const field of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [was, is] = [left[field], right[field]]
    if (deepEqual(was, is)) continue
    if (isContainer(was) && isContainer(is)) {
      lines.push(`  ${indent}${field}:`)
      describe(was, is, `${indent}  `, lines)
      continue
    }
    if (was !== undefined) lines.push(`- ${indent}${field}: ${JSON.stringify(was)}`)
    if (is !== undefined) lines.push(`+ ${indent}${field}: ${JSON.stringify(is)}`)
  }
}

const isContainer = (value: unknown) => typeof value === 'object' && value !== null
