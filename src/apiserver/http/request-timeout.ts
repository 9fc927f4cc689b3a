import { badRequest } from '../../api/meta/api-error.ts'
import { parseDuration } from '../../base/duration.ts'
import type { RequestLine } from './request-info.ts'

/** Refuses a `timeout` in the URL that is no duration of Go. Watches and streams are not checked. */
export function checkTimeout({ query, isLongRunning }: RequestLine): void {
  const timeout = query.get('timeout')
  if (timeout === '' || isLongRunning) return
  if (timeout.includes('d') || parseDuration(timeout.replace(/^[+-]/, '')) === undefined) {
    throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(timeout)}`)
  }
}

const durationProblem = (text: string) =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text)
    ? `time: missing unit in duration ${JSON.stringify(text)}`
    : `time: invalid duration ${JSON.stringify(text)}`
