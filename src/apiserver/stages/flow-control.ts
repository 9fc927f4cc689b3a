import { withSeats } from '../flow-control/take-seats.ts'
import type { Stage } from './stage.ts'

/** API priority and fairness: waits for seats, or answers 429. */
export const flowControl: Stage = ({ flowControl: control, machinery }, request, next) =>
  withSeats(control, machinery.feed, request, () => next(request))
