import type { Exchange } from '../http/exchange.ts'
import type { RequestInfo, ResourceInfo } from '../http/request-info.ts'
import type { UserInfo } from '../identity.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import type { Flow } from './flow.ts'
import type { FlowControl } from './flow-control.ts'
import type { FlowRequest } from './matching.ts'
import { seatsOf } from './seats.ts'

export interface SeatRequest {
  readonly exchange: Exchange
  readonly info: RequestInfo
  readonly path: string
  readonly query: string
  readonly user: UserInfo
}

/** These go on for as long as somebody looks at them, and cost next to nothing meanwhile. */
const LONG_RUNNING = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

const VERBS: Readonly<Record<string, readonly [one: string, all: string] | undefined>> = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
}
const WATCH = /(?:^|&)watch=(?:1|true)?(?:&|$)/

/** Streams and watches: they have no end of their own. */
export const isLongRunning = (method: string, info: RequestInfo, query: string): boolean =>
  info.isResource && (LONG_RUNNING.has(info.subresource) || resourceVerb(method, info, query) === 'watch')

/** Does the work of a request when flow control has seats for it, and hands them back afterwards. */
export function withSeats(
  control: FlowControl,
  feed: CacheFeed,
  request: SeatRequest,
  work: () => void | Promise<void>,
): void | Promise<void> {
  const { exchange, info, path, query } = request
  if (info.isResource && LONG_RUNNING.has(info.subresource)) return work()
  const asked: FlowRequest = info.isResource
    ? { verb: resourceVerb(exchange.method, info, query), resource: info, path }
    : { verb: exchange.method.toLowerCase(), path }
  const flow = control.classify(request.user, asked)
  exchange.answerHeaders = flow.headers
  const width = info.isResource ? Math.min(seatsOf(asked.verb, info, query, feed), control.maxWidth(flow)) : 1
  const waiting = control.begin(flow, width, () => exchange.signal)
  const run =
    asked.verb === 'watch'
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

/** The verb of a request as policies name it. */
export function resourceVerb(method: string, info: ResourceInfo, query: string): string {
  const verbs = VERBS[method]
  if (!verbs) return method.toLowerCase()
  const verb = info.name === '' ? verbs[1] : verbs[0]
  if (info.watchPath && (verb === 'get' || verb === 'list')) return 'watch'
  return verb === 'list' && query !== '' && WATCH.test(query) ? 'watch' : verb
}
