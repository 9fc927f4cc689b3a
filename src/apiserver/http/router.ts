import { ApiError, internalError, pathNotFound } from '../../api/meta/api-error.ts'
import type { Logger } from '../../base/log.ts'
import type { Auditor } from '../audit/auditor.ts'
import type { Authenticator } from '../authentication/authenticator.ts'
import { impersonate, wantsImpersonation } from '../authentication/impersonation.ts'
import { type AccessAttributes, authorize } from '../authorization/authorizer.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import { resourceVerb, withSeats } from '../flow-control/take-seats.ts'
import type { UserRates } from '../flow-control/user-rates.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import { Query } from '../registry/query.ts'
import type { Exchange } from './exchange.ts'
import { parsePath, type RequestInfo } from './request-info.ts'
import { checkTimeout } from './request-timeout.ts'
import { handleResource, type NetworkContext } from './resource-handler.ts'
import { sendError } from './respond.ts'

/** Serves a path that is no resource. */
export type PathHandler = (exchange: Exchange, path: string, query: string, user: UserInfo) => void | Promise<void>

export interface RouterContext extends NetworkContext {
  readonly authenticator: Authenticator
  /** Everyone may ask these, known or not: health and version. */
  readonly publicPaths: (path: string) => PathHandler | undefined
  readonly paths: (path: string) => PathHandler | undefined
  readonly log: Logger
  readonly userRates: UserRates
  readonly flowControl: FlowControl
  readonly auditor?: Auditor | undefined
}

/** The way of every request, written down where that is asked for. */
export function route(context: RouterContext, exchange: Exchange): void | Promise<void> {
  return context.auditor ? context.auditor.observe(context, exchange, answer) : answer(context, exchange)
}

/** Whatever fails leaves as a Status. */
function answer(context: RouterContext, exchange: Exchange): void | Promise<void> {
  const fail = (error: unknown) => sendError(exchange, toApiError(error, context.log, exchange))
  try {
    return dispatch(context, exchange)?.catch(fail)
  } catch (error) {
    fail(error)
  }
}

/** Who is it, may they, and to whom does it go. */
function dispatch(context: RouterContext, exchange: Exchange): void | Promise<void> {
  const { url } = exchange
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = mark < 0 ? '' : url.slice(mark + 1)
  checkTimeout(exchange.method, query, () => parsePath(path))
  const open = context.publicPaths(path)
  if (open) return open(exchange, path, query, ANONYMOUS)
  const user = identify(context, exchange, path, query)
  if (user instanceof Promise) return user.then((late) => serve(context, exchange, path, query, late))
  return serve(context, exchange, path, query, user)
}

/** Who sent it, or whom they act as. */
function identify(
  { authenticator, authorizer }: RouterContext,
  exchange: Exchange,
  path: string,
  query: string,
): UserInfo | Promise<UserInfo> {
  const sender = authenticator.authenticate(exchange)
  if (!wantsImpersonation(exchange.headers)) return sender
  return Promise.resolve(sender).then(async (known) => {
    const asked = attributesOf(exchange.method, parsePath(path), query)
    const { user, constraint } = await impersonate(authorizer, known, exchange.headers, asked)
    exchange.audit?.actingAs(user, constraint)
    return user
  })
}

function attributesOf(method: string, info: RequestInfo, query: string): AccessAttributes {
  if (!info.isResource) return { verb: method.toLowerCase(), path: info.path }
  return { verb: resourceVerb(method, info, query), resource: info, selectors: Query.parse(query) }
}

function serve(
  context: RouterContext,
  exchange: Exchange,
  path: string,
  query: string,
  user: UserInfo,
): void | Promise<void> {
  context.userRates.take(user)
  const info = parsePath(path)
  return withSeats(context.flowControl, context.machinery.feed, { exchange, info, path, query, user }, () =>
    info.isResource
      ? handleResource(context, exchange, info, query, user)
      : servePath(context, exchange, path, query, user),
  )
}

function servePath(
  context: RouterContext,
  exchange: Exchange,
  path: string,
  query: string,
  user: UserInfo,
): void | Promise<void> {
  const pending = authorize(context.authorizer, user, { verb: exchange.method.toLowerCase(), path })
  const handle = () => {
    const handler = context.paths(path)
    if (!handler) throw pathNotFound()
    return handler(exchange, path, query, user)
  }
  return pending ? pending.then(handle) : handle()
}

function toApiError(error: unknown, log: Logger, exchange: Exchange): ApiError {
  if (error instanceof ApiError) return error
  const stack = error instanceof Error ? error.stack : String(error)
  log.error('a request failed unexpectedly', { method: exchange.method, url: exchange.url, error: stack })
  return internalError(error instanceof Error ? error.message : String(error))
}
