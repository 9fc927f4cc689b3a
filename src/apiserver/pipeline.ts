import type { Exchange } from './http/exchange.ts'
import { ApiRequest } from './request/api-request.ts'
import { audit } from './stages/audit.ts'
import { authenticate } from './stages/authenticate.ts'
import { authorize } from './stages/authorize.ts'
import { checkTimeout } from './stages/check-timeout.ts'
import { flowControl } from './stages/flow-control.ts'
import { impersonate } from './stages/impersonate.ts'
import { limitUserRate } from './stages/limit-user-rate.ts'
import { measure } from './stages/measure.ts'
import { recoverErrors } from './stages/recover-errors.ts'
import { refuseMalformed } from './stages/refuse-malformed.ts'
import { route } from './stages/route.ts'
import { servePublicPaths } from './stages/serve-public-paths.ts'
import type { Next, Stage, StageContext } from './stages/stage.ts'

/** The way of every request from the network, in order. The READMEs show this list; a test keeps them equal. */
export const pipeline: readonly Stage[] = [
  measure,
  audit,
  recoverErrors,
  checkTimeout,
  servePublicPaths,
  authenticate,
  impersonate,
  limitUserRate,
  refuseMalformed,
  flowControl,
  authorize,
  route,
]

/** Links the stages once; a request then passes them without further allocation. */
export function startPipeline(server: StageContext): (exchange: Exchange) => void | Promise<void> {
  const end: Next = () => {
    throw new Error('the last stage of the pipeline called next')
  }
  const first = pipeline.reduceRight<Next>((next, stage) => (request) => stage(server, request, next), end)
  return (exchange) => first(new ApiRequest(exchange))
}
