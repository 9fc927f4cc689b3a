import type { Logger } from '../../base/log.ts'
import type { Auditor } from '../audit/auditor.ts'
import type { Authenticator } from '../authentication/authenticator.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { UserRates } from '../flow-control/user-rates.ts'
import type { NetworkContext } from '../handlers/resource-handler.ts'
import type { ApiRequest, PathTable } from '../request/api-request.ts'
import type { RequestMetrics } from './measure.ts'

/** What the stages use of the server. */
export interface StageContext extends NetworkContext {
  readonly metrics: RequestMetrics
  readonly auditor?: Auditor | undefined
  readonly authenticator: Authenticator
  readonly userRates: UserRates
  readonly flowControl: FlowControl
  /** Health and version: served without authentication. */
  readonly publicPaths: PathTable
  readonly paths: PathTable
  readonly log: Logger
}

export type Next = (request: ApiRequest) => void | Promise<void>

/**
 * One step on the way of a request. It answers, throws an `ApiError`, or calls `next`. Stages wait only if they must: most
 * requests pass all of them in one turn of the event loop.
 */
export type Stage = (server: StageContext, request: ApiRequest, next: Next) => void | Promise<void>
