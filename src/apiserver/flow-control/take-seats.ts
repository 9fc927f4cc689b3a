import type { Exchange } from '../http/exchange.ts'
import type { RequestLine } from '../http/request-info.ts'
import type { UserInfo } from '../identity.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import type { Flow } from './flow.ts'
import type { FlowControl } from './flow-control.ts'
import type { FlowRequest } from './matching.ts'
import { seatsOf } from './seats.ts'

export interface SeatRequest {
  readonly exchange: Exchange
  readonly line: RequestLine
  readonly user: UserInfo
}

/** Does the work of a request when flow control has seats for it, and hands them back afterwards. */
export function withSeats(
  control: FlowControl,
  feed: CacheFeed,
  request: SeatRequest,
  work: () => void | Promise<void>,
): void | Promise<void> {
  const { exchange, line } = request
  const { info, verb, path, query } = line
  // Watches cost when they begin, other streams next to nothing.
  if (line.isLongRunning && verb !== 'watch') return work()
  const asked: FlowRequest = info.isResource ? { verb, resource: info, path } : { verb, path }
  const flow = control.classify(request.user, asked)
  exchange.answerHeaders = flow.headers
  const width = info.isResource ? Math.min(seatsOf(verb, info, query, feed), control.maxWidth(flow)) : 1
  const waiting = control.begin(flow, width, () => exchange.signal)
  const run =
    verb === 'watch'
      ? () => runWatch(control, flow, width, exchange, work)
      : () => runSeated(control, flow, width, work)
  return waiting ? waiting.then(run) : run()
}

function runSeated(
  control: FlowControl,
  flow: Flow,
  width: number,
  work: () => void | Promise<void>,
): void | Promise<void> {
  let pending: Promise<void> | undefined
  try {
    pending = work() as Promise<void> | undefined
  } finally {
    if (!pending) control.end(flow, width)
  }
  return pending?.finally(() => control.end(flow, width))
}

/** A watch costs when it begins; its seats are free as soon as it has begun. */
function runWatch(
  control: FlowControl,
  flow: Flow,
  width: number,
  exchange: Exchange,
  work: () => void | Promise<void>,
): void | Promise<void> {
  let isSeated = true
  const leave = () => {
    if (isSeated) control.end(flow, width)
    isSeated = false
  }
  exchange.whenStarted = leave
  let pending: Promise<void> | undefined
  try {
    pending = work() as Promise<void> | undefined
  } finally {
    if (!pending) leave()
  }
  return pending?.finally(leave)
}
