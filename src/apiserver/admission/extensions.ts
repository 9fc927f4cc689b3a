import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../../api/generated/admissionregistration-v1.ts'
import type { Namespace } from '../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { MetricsRegistry } from '../../base/metrics.ts'
import type { Random } from '../../base/random.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { KindTable } from '../kind-table.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import type { ResolveService } from '../webhook-client/call-webhook.ts'
import { cacheLister, type Lister } from './lister.ts'
import { MatchConditions } from './matching/match-conditions.ts'
import { EquivalentKinds } from './matching/versions.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { PolicyMetrics } from './policy/metrics.ts'
import { mutatingAdmissionPolicy } from './policy/mutating.ts'
import { boundPolicies } from './policy/policies.ts'
import { validatingAdmissionPolicy } from './policy/validating.ts'
import { registrationChecks } from './registration-checks.ts'
import { WebhookMetrics } from './webhook/metrics.ts'
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from './webhook/plugins.ts'

export interface ExtensionContext {
  readonly feed: CacheFeed
  readonly kinds: KindTable
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MetricsRegistry
  readonly resolveService: ResolveService
  readonly isUp: () => boolean
}

const GROUP = 'admissionregistration.k8s.io'

/** Admission that users bring themselves: policies and webhooks, in the order in which they are asked. */
export function admissionExtensions(context: ExtensionContext, authorizer: Authorizer): readonly AdmissionPlugin[] {
  const { feed, kinds } = context
  const lister = <T extends KubernetesObject>(group: string, plural: string): Lister<T> =>
    cacheLister(feed, storagePrefix({ group, plural }))
  const webhooks = {
    ...context,
    metrics: new WebhookMetrics(context.metrics),
    namespaces: lister<Namespace>('', 'namespaces'),
    conditions: new MatchConditions(kinds, authorizer),
  }
  const policies = { ...context, authorizer, namespaces: webhooks.namespaces, equivalents: new EquivalentKinds(kinds) }
  const validating = lister<ValidatingAdmissionPolicy>(GROUP, 'validatingadmissionpolicies')
  const mutating = lister<MutatingAdmissionPolicy>(GROUP, 'mutatingadmissionpolicies')
  return [
    registrationChecks({ kinds, authorizer, policies: { validating, mutating } }),
    mutatingAdmissionPolicy(
      policies,
      boundPolicies(mutating, lister<MutatingAdmissionPolicyBinding>(GROUP, 'mutatingadmissionpolicybindings')),
      new PolicyMetrics(context.metrics, 'mutating'),
    ),
    mutatingAdmissionWebhook(webhooks, lister<MutatingWebhookConfiguration>(GROUP, 'mutatingwebhookconfigurations')),
    validatingAdmissionPolicy(
      policies,
      boundPolicies(validating, lister<ValidatingAdmissionPolicyBinding>(GROUP, 'validatingadmissionpolicybindings')),
      new PolicyMetrics(context.metrics, 'validating'),
    ),
    validatingAdmissionWebhook(
      webhooks,
      lister<ValidatingWebhookConfiguration>(GROUP, 'validatingwebhookconfigurations'),
    ),
  ]
}
