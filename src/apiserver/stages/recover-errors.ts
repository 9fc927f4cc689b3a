import { ApiError, internalError } from '../../api/meta/api-error.ts'
import { sendError } from '../http/respond.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { Stage, StageContext } from './stage.ts'

/** Answers with a Status whatever a later stage throws. */
export const recoverErrors: Stage = (server, request, next) => {
  const fail = (error: unknown) => sendError(request.exchange, toApiError(server, request, error))
  try {
    return next(request)?.catch(fail)
  } catch (error) {
    fail(error)
  }
}

function toApiError({ log }: StageContext, { exchange }: ApiRequest, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const stack = error instanceof Error ? error.stack : String(error)
  log.error('a request failed unexpectedly', { method: exchange.method, url: exchange.url, error: stack })
  return internalError(error instanceof Error ? error.message : String(error))
}
