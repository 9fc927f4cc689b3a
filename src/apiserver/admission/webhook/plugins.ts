import type { Namespace } from '../../../api/generated/core-v1.ts'
import { internalError } from '../../../api/meta/api-error.ts'
import type { Json, KubernetesObject } from '../../../api/meta/object.ts'
import { jsonPatch } from '../../../patch/json-patch.ts'
import { cloneJson } from '../../../patch/json-value.ts'
import type { Lister } from '../lister.ts'
import { changeDraft } from '../matching/change-draft.ts'
import type { MatchConditions } from '../matching/match-conditions.ts'
import { derived, type Match, MatchIndex } from '../matching/match-index.ts'
import { noteChange, type Reinvocation, reinvocationOf } from '../matching/reinvocation.ts'
import { isExempt, selectsNamespace, selectsObject } from '../matching/selectors.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../plugin.ts'
import { type Asked, ask, type WebhookCalls } from './ask.ts'
import { type Webhook, type WebhookConfiguration, webhooksOf } from './webhooks.ts'

export interface WebhookContext extends WebhookCalls {
  readonly namespaces: Lister<Namespace>
  readonly conditions: MatchConditions
  /** Nobody is asked before the server is up. */
  readonly isUp: () => boolean
}

/** Asks webhooks one after the other what an object shall be. */
export function mutatingAdmissionWebhook(
  context: WebhookContext,
  configurations: Lister<WebhookConfiguration>,
): AdmissionPlugin {
  const index = new MatchIndex(derived(configurations, webhooksOf), context.kinds)
  return {
    name: 'MutatingAdmissionWebhook',
    admit: (request) => whenConcerned(context, index, request, (matches) => mutate(context, matches, request)),
  }
}

/** Asks webhooks, all at once, whether an object may be as it is. */
export function validatingAdmissionWebhook(
  context: WebhookContext,
  configurations: Lister<WebhookConfiguration>,
): AdmissionPlugin {
  const index = new MatchIndex(derived(configurations, webhooksOf), context.kinds)
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: (request) => whenConcerned(context, index, request, (matches) => validate(context, matches, request)),
  }
}

type Matches = readonly Match<Webhook>[]

function whenConcerned(
  { isUp }: WebhookContext,
  index: MatchIndex<Webhook>,
  request: AdmissionRequest,
  run: (matches: Matches) => Promise<void>,
): void | Promise<void> {
  if (!isUp() || isExempt(request)) return
  const matches = index.find(request)
  if (matches instanceof Promise) return matches.then((found) => (found.length > 0 ? run(found) : undefined))
  if (matches.length > 0) return run(matches)
}

async function isSelected(context: WebhookContext, { asked, kind }: Match<Webhook>, request: AdmissionRequest) {
  if (!selectsObject(asked.objectSelector, request)) return false
  if (!(await selectsNamespace(asked.namespaceSelector, request, context.namespaces))) return false
  return asked.conditions.length === 0 || context.conditions.hold(asked, request, kind)
}

/** All answers are waited for; of several refusals the first in order is told. */
async function validate(context: WebhookContext, matches: Matches, request: AdmissionRequest): Promise<void> {
  const askOne = async (match: Match<Webhook>) => {
    if (await isSelected(context, match, request)) await ask(context, match.asked, request, match.kind, 'validating')
  }
  const outcomes = await Promise.allSettled(matches.map(askOne))
  const refused = outcomes.find((outcome) => outcome.status === 'rejected')
  if (refused) throw refused.reason
}

async function mutate(context: WebhookContext, matches: Matches, request: AdmissionRequest): Promise<void> {
  const reinvocation = reinvocationOf(request)
  const { round } = reinvocation
  for (const [i, match] of matches.entries()) {
    const { asked } = match
    const id = `webhook ${asked.configuration}/${asked.name}`
    if (round > 0 && !reinvocation.due.has(id)) continue
    if (!(await isSelected(context, match, request))) continue
    const answer = await ask(context, asked, request, match.kind, 'admit')
    if (asked.reinvokes && round === 0) reinvocation.waiting.add(id)
    const place = `round_${round}_index_${i}`
    const changed = answer !== undefined && (await applyAnswer(context, match, request, answer))
    annotate(request, place, asked, changed, answer !== undefined)
    if (changed) noteChangeBy(reinvocation, id)
  }
}

/** A webhook does not see again what it changed itself. */
function noteChangeBy(reinvocation: Reinvocation, id: string): void {
  const wasDue = reinvocation.due.has(id)
  noteChange(reinvocation)
  if (!wasDue) reinvocation.due.delete(id)
}

async function applyAnswer(
  context: WebhookContext,
  { asked, kind }: Match<Webhook>,
  request: AdmissionRequest,
  { seen, response }: Asked,
): Promise<boolean> {
  const { patch } = response
  if (!patch || patch.length === 0 || !request.draft || !seen.object) return false
  let patched: KubernetesObject
  try {
    patched = jsonPatch(cloneJson(seen.object as unknown as Json) as unknown as KubernetesObject, patch)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw internalError(`failed calling webhook ${JSON.stringify(asked.name)}: its patch cannot be applied: ${why}`)
  }
  return changeDraft(context.kinds, request, kind, patched)
}

function annotate(
  request: AdmissionRequest,
  place: string,
  { configuration, name: webhook }: Webhook,
  mutated: boolean,
  wasAsked: boolean,
): void {
  if (!request.annotate) return
  if (!wasAsked) request.annotate(`failed-open.mutating.webhook.admission.k8s.io/${place}`, webhook)
  const note = JSON.stringify({ configuration, webhook, mutated })
  request.annotate(`mutation.webhook.admission.k8s.io/${place}`, note)
}
