import type { Expression } from './expression.ts'
import type { Budget } from './library.ts'
import type { CelValue } from './values.ts'

/** What an expression runs on: its variables by place, and the work it may do. */
export interface Frame {
  readonly values: CelValue[]
  readonly budget: Budget
}

export type Step = (frame: Frame) => CelValue

/** Makes parts of an expression ready, for those that run them themselves. */
export interface StepMaker {
  step(node: Expression, names: readonly string[]): Step
}
