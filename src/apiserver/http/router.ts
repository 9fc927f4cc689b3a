import { ApiError, internalError, pathNotFound } from '../../api/meta/api-error.ts'
import type { Logger } from '../../base/log.ts'
import type { Auditor } from '../audit/auditor.ts'
import type { Authenticator } from '../authentication/authenticator.ts'
import { impersonate, wantsImpersonation } from '../authentication/impersonation.ts'
import { type AccessAttributes, authorize } from '../authorization/authorizer.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import { withSeats } from '../flow-control/take-seats.ts'
import type { UserRates } from '../flow-control/user-rates.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import type { Exchange } from './exchange.ts'
import type { RequestLine } from './request-info.ts'
import { checkTimeout } from './request-timeout.ts'
import { handleResource, type NetworkContext } from './resource-handler.ts'
import { sendError } from './respond.ts'

/** Serves a path that is no resource. */
export type PathHandler = (exchange: Exchange, line: RequestLine, user: UserInfo) => void | Promise<void>

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
export function route(context: RouterContext, exchange: Exchange, line: RequestLine): void | Promise<void> {
  return context.auditor ? context.auditor.observe(context, exchange, line, answer) : answer(context, exchange, line)
}

/** Whatever fails leaves as a Status. */
function answer(context: RouterContext, exchange: Exchange, line: RequestLine): void | Promise<void> {
  const fail = (error: unknown) => sendError(exchange, toApiError(error, context.log, exchange))
  try {
    return dispatch(context, exchange, line)?.catch(fail)
  } catch (error) {
    fail(error)
  }
}

/** Who is it, may they, and to whom does it go. */
function dispatch(context: RouterContext, exchange: Exchange, line: RequestLine): void | Promise<void> {
  checkTimeout(line)
  const open = context.publicPaths(line.path)
  if (open) return open(exchange, line, ANONYMOUS)
  const user = identify(context, exchange, line)
  if (user instanceof Promise) return user.then((late) => serve(context, exchange, line, late))
  return serve(context, exchange, line, user)
}

/** Who sent it, or whom they act as. */
function identify(
  { authenticator, authorizer }: RouterContext,
  exchange: Exchange,
  line: RequestLine,
): UserInfo | Promise<UserInfo> {
  const sender = authenticator.authenticate(exchange)
  if (!wantsImpersonation(exchange.headers)) return sender
  return Promise.resolve(sender).then(async (known) => {
    const { user, constraint } = await impersonate(authorizer, known, exchange.headers, attributesOf(line))
    exchange.audit?.actingAs(user, constraint)
    return user
  })
}

function attributesOf({ verb, info, query }: RequestLine): AccessAttributes {
  return info.isResource ? { verb, resource: info, selectors: query } : { verb, path: info.path }
}

function serve(context: RouterContext, exchange: Exchange, line: RequestLine, user: UserInfo): void | Promise<void> {
  context.userRates.take(user)
  if (line.problem) throw line.problem
  return withSeats(context.flowControl, context.machinery.feed, { exchange, line, user }, () => {
    const pending = authorize(context.authorizer, user, attributesOf(line))
    const handle = () => {
      const { info } = line
      if (info.isResource) return handleResource(context, exchange, line, info, user)
      const handler = context.paths(line.path)
      if (!handler) throw pathNotFound()
      return handler(exchange, line, user)
    }
    return pending ? pending.then(handle) : handle()
  })
}

function toApiError(error: unknown, log: Logger, exchange: Exchange): ApiError {
  if (error instanceof ApiError) return error
  const stack = error instanceof Error ? error.stack : String(error)
  log.error('a request failed unexpectedly', { method: exchange.method, url: exchange.url, error: stack })
  return internalError(error instanceof Error ? error.message : String(error))
}
