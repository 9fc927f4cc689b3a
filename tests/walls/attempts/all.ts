/** Every row of the suite, by theme. */
import type { Attempt } from '../attempt.ts'
import { systemCalls } from './system-calls.ts'

export const ATTEMPTS: readonly Attempt[] = [...systemCalls]
