import type { Kind } from '../../../api/kind.ts'
import { ApiError, badRequest, internalError, type Status } from '../../../api/meta/api-error.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { KindTable } from '../../kind-table.ts'
import {
  callWebhook,
  type ResolveService,
  WebhookStatusError,
  webhookAddress,
} from '../../webhook-client/call-webhook.ts'
import { type SeenObjects, seenAs } from '../matching/seen-request.ts'
import type { AdmissionRequest } from '../plugin.ts'
import type { WebhookMetrics, WebhookType } from './metrics.ts'
import { admissionReview, type ReviewResponse, readResponse } from './review.ts'
import type { Webhook } from './webhooks.ts'

export interface WebhookCalls {
  readonly kinds: KindTable
  readonly clock: Clock
  readonly random: Random
  readonly metrics: WebhookMetrics
  readonly resolveService: ResolveService
}

/** A webhook's answer, with the object that it was given. */
export interface Asked {
  readonly seen: SeenObjects
  readonly response: ReviewResponse
}

/**
 * Asks one webhook. Throws if it refuses, or if it cannot be asked and that counts as a refusal; undefined if it
 * cannot be asked and that does not matter.
 */
export async function ask(
  calls: WebhookCalls,
  webhook: Webhook,
  request: AdmissionRequest,
  kind: Kind,
  type: WebhookType,
): Promise<Asked | undefined> {
  if (request.dryRun && webhook.sideEffects !== 'None' && webhook.sideEffects !== 'NoneOnDryRun')
    throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`)
  const { clock, metrics } = calls
  const { name } = webhook
  const { operation } = request
  const started = clock.now()
  const seen = await seenAs(calls.kinds, request, kind)
  let response: ReviewResponse
  try {
    response = await call(calls, webhook, request, kind, seen, type)
  } catch (error) {
    const isOpen = webhook.failurePolicy === 'Ignore'
    metrics.called(name, type, operation, !isOpen, 500, clock.now() - started)
    if (isOpen) {
      metrics.failedOpen(name, type)
      return undefined
    }
    metrics.rejected(name, type, operation, 'calling_webhook_error', 0)
    throw internalError(`failed calling webhook ${JSON.stringify(name)}: ${reasonOf(error)}`)
  }
  for (const warning of response.warnings) request.warn(warning)
  for (const [key, value] of Object.entries(response.auditAnnotations)) request.annotate?.(`${name}/${key}`, value)
  metrics.called(name, type, operation, !response.allowed, response.status?.code ?? 200, clock.now() - started)
  if (response.allowed) return { seen, response }
  const refusal = refusalOf(name, response.status)
  metrics.rejected(name, type, operation, 'no_error', refusal.code)
  throw refusal
}

async function call(
  calls: WebhookCalls,
  { client, reviewVersion, timeoutSeconds }: Webhook,
  request: AdmissionRequest,
  kind: Kind,
  seen: SeenObjects,
  type: WebhookType,
): Promise<ReviewResponse> {
  const uid = calls.random.uuid()
  const review = admissionReview(request, kind, seen, reviewVersion, uid)
  const query = `?timeout=${timeoutSeconds}s`
  let answer: unknown
  try {
    answer = await callWebhook(client, review, calls.resolveService, timeoutSeconds * 1000, query)
  } catch (error) {
    throw new Error(`failed to call webhook: ${callFailure(error, webhookAddress(client, query))}`)
  }
  try {
    return readResponse(answer, reviewVersion, uid, type === 'admit')
  } catch (error) {
    throw new Error(`received invalid webhook response: ${reasonOf(error)}`)
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

function callFailure(error: unknown, address: string): string {
  if (error instanceof SyntaxError) return `couldn't get version/kind; json parse error: ${error.message}`
  if (!(error instanceof WebhookStatusError)) return `Post ${JSON.stringify(address)}: ${reasonOf(error)}`
  if (error.status === 404) return 'the server could not find the requested resource'
  const text = JSON.stringify(error.body.slice(0, 1024))
  if (error.status >= 500) return `an error on the server (${text}) has prevented the request from succeeding`
  return `the server rejected our request for an unknown reason (${error.status})`
}

/** The refusal in the webhook's own words. */
function refusalOf(name: string, status: Partial<Status> = {}): ApiError {
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`
  const why = status.message || status.reason
  const code = typeof status.code === 'number' && status.code >= 400 ? status.code : 400
  return new ApiError(
    code,
    status.reason ?? '',
    why ? `${denied}: ${why}` : `${denied} without explanation`,
    status.details,
  )
}
