import { TYPE_NAMES } from './check.ts'
import type { Expression } from './expression.ts'
import { Uint } from './values.ts'

/** How Kubernetes lays an expression out before it runs, as far as the cost of a run depends on it. */

const CONVERSIONS = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
])

/** Computed once, before the first run: literals, lists and maps of them, and conversions of them. */
export function isConstant(node: Expression, names: readonly string[]): boolean {
  switch (node.type) {
    case 'literal':
      return true
    case 'identifier':
      return !names.includes(node.name) && TYPE_NAMES.has(node.name)
    case 'list':
      return node.items.every(({ value, isOptional }) => !isOptional && isConstant(value, names))
    case 'map':
      return node.entries.every(
        ({ key, value, isOptional }) => !isOptional && isConstant(key, names) && isConstant(value, names),
      )
    case 'call':
      return (
        node.target === undefined &&
        CONVERSIONS.has(node.name) &&
        node.args.length === 1 &&
        isConstant(node.args[0]!, names)
      )
    default:
      return false
  }
}

/** A way from a variable down to a value; what selects from anything else costs a step more. */
export function isAttribute(node: Expression, names: readonly string[]): boolean {
  if (node.type === 'identifier') return !isConstant(node, names)
  if (node.type === 'select') return true
  return node.type === 'call' && (node.name === '_[_]' || node.name === '_[?_]' || node.name === '_?_:_')
}

/** A list in which values are looked up at no cost. */
export function isConstantSet(node: Expression | undefined): boolean {
  return node?.type === 'list' && node.items.every(({ value }) => value.type === 'literal' && isPlain(value.value))
}

const isPlain = (value: unknown) => (typeof value !== 'object' && value !== undefined) || value instanceof Uint
