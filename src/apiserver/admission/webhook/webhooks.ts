import type {
  MatchCondition,
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from '../../../api/generated/admissionregistration-v1.ts'
import type { Selector } from '../../../api/meta/label-selector.ts'
import type { Asked } from '../matching/match-index.ts'
import { selectorOf } from '../matching/selectors.ts'

/** One webhook of a configuration, with its selectors ready. */
export interface Webhook extends Asked {
  readonly name: string
  readonly configuration: string
  readonly client: WebhookClientConfig
  readonly failurePolicy: string
  readonly namespaceSelector: Selector
  readonly objectSelector: Selector
  readonly conditions: readonly MatchCondition[]
  readonly reviewVersion: string
  readonly timeoutSeconds: number
  readonly sideEffects: string
  readonly reinvokes: boolean
}

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration

const REVIEW_VERSIONS = ['v1', 'v1beta1']
const DEFAULT_TIMEOUT = 10

/** All webhooks in the order in which they are asked: by the name of their configuration, then as they are listed. */
export function webhooksOf(configurations: readonly WebhookConfiguration[]): Webhook[] {
  const nameOf = ({ metadata }: WebhookConfiguration) => metadata.name ?? ''
  return [...configurations]
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .flatMap((configuration) =>
      (configuration.webhooks ?? []).map((webhook) => webhookOf(nameOf(configuration), webhook)),
    )
}

function webhookOf(configuration: string, webhook: MutatingWebhook | ValidatingWebhook): Webhook {
  return {
    name: webhook.name,
    configuration,
    client: webhook.clientConfig,
    rules: webhook.rules ?? [],
    matchPolicy: webhook.matchPolicy,
    failurePolicy: webhook.failurePolicy ?? 'Fail',
    namespaceSelector: selectorOf(webhook.namespaceSelector),
    objectSelector: selectorOf(webhook.objectSelector),
    conditions: webhook.matchConditions ?? [],
    reviewVersion: webhook.admissionReviewVersions.find((version) => REVIEW_VERSIONS.includes(version)) ?? 'v1',
    timeoutSeconds: webhook.timeoutSeconds ?? DEFAULT_TIMEOUT,
    sideEffects: webhook.sideEffects,
    reinvokes: 'reinvocationPolicy' in webhook && webhook.reinvocationPolicy === 'IfNeeded',
  }
}
