import { badRequest } from '../../api/meta/api-error.ts'
import { parseDuration } from '../../base/duration.ts'
import { isLongRunning } from '../flow-control/take-seats.ts'
import type { RequestInfo } from './request-info.ts'

/** Refuses a `timeout` in the URL that is no duration of Go. Those who look on for long are not asked. */
export function checkTimeout(method: string, query: string, info: () => RequestInfo): void {
  // Nearly no request has one.
  if (!query.includes('timeout=')) return
  const timeout = new URLSearchParams(query).get('timeout')
  if (!timeout || isLongRunning(method, info(), query)) return
  if (timeout.includes('d') || parseDuration(timeout.replace(/^[+-]/, '')) === undefined) {
    throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(timeout)}`)
  }
}

const durationProblem = (text: string) =>
  /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text)
    ? `time: missing unit in duration ${JSON.stringify(text)}`
    : `time: invalid duration ${JSON.stringify(text)}`
