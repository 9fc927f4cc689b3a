import type { CelValue } from './values.ts'

interface Node {
  /** Offset in the text, for messages. */
  readonly position: number
}

export interface Literal extends Node {
  readonly type: 'literal'
  readonly value: CelValue
}

export interface Identifier extends Node {
  readonly type: 'identifier'
  readonly name: string
}

/** `operand.field`, `operand.?field`, `has(operand.field)`. */
export interface Select extends Node {
  readonly type: 'select'
  readonly operand: Expression
  readonly field: string
  readonly mode: 'value' | 'optional' | 'has'
}

/** Functions, methods and operators alike: `_+_`, `size`, `x.size()`. */
export interface Call extends Node {
  readonly type: 'call'
  readonly name: string
  readonly target: Expression | undefined
  readonly args: readonly Expression[]
}

export interface ListLiteral extends Node {
  readonly type: 'list'
  readonly items: readonly { readonly value: Expression; readonly isOptional: boolean }[]
}

export interface MapLiteral extends Node {
  readonly type: 'map'
  readonly entries: readonly { readonly key: Expression; readonly value: Expression; readonly isOptional: boolean }[]
}

/** `Object.spec{replicas: 1}` */
export interface ObjectLiteral extends Node {
  readonly type: 'object'
  readonly name: string
  readonly fields: readonly { readonly name: string; readonly value: Expression; readonly isOptional: boolean }[]
}

/** `range.all(x, ...)` and its kin: expressions that are evaluated for every element. */
export interface Comprehension extends Node {
  readonly type: 'comprehension'
  readonly macro: string
  readonly range: Expression
  readonly variables: readonly string[]
  readonly bodies: readonly Expression[]
}

export type Expression = Literal | Identifier | Select | Call | ListLiteral | MapLiteral | ObjectLiteral | Comprehension
