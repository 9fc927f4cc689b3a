import { badRequest } from '../../api/meta/api-error.ts'
import { parseDuration } from '../../base/duration.ts'
import type { Stage } from './stage.ts'

/** Refuses a `timeout` that is not a duration. Watches and streams ignore the parameter, as upstream's do. */
export const checkTimeout: Stage = (_server, request, next) => {
  const timeout = request.query.get('timeout')
  if (timeout === '' || request.isLongRunning) return next(request)
  if (timeout.includes('d') || parseDuration(timeout.replace(/^[+-]/, '')) === undefined) {
    throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(timeout)}`)
  }
  return next(request)
}

const durationProblem = (text: string) =>
  /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text)
    ? `time: missing unit in duration ${JSON.stringify(text)}`
    : `time: invalid duration ${JSON.stringify(text)}`
