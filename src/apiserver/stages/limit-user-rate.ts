import type { Stage } from './stage.ts'

/** Answers 429 to a user who asks faster than the limit. */
export const limitUserRate: Stage = ({ userRates }, request, next) => {
  userRates.take(request.user)
  return next(request)
}
