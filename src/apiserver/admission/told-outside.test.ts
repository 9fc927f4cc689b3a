import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ConfigMap, Namespace } from '../../api/generated/core-v1.ts'
import { builtinKinds } from '../../api/kinds/all.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { MetricsRegistry } from '../../base/metrics.ts'
import { seededRandom } from '../../base/random.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import type { Store } from '../../store/store.ts'
import { masters } from '../authorization/authorizer.ts'
import { KindTable } from '../kind-table.ts'
import { CacheFeed } from '../watch-cache/cache-feed.ts'
import { listerOf } from './admission.fixture.ts'
import { MatchConditions } from './matching/match-conditions.ts'
import { EquivalentKinds } from './matching/versions.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'
import { PolicyMetrics } from './policy/metrics.ts'
import { CONFIG_MAPS } from './policy/policies.fixture.ts'
import { boundPolicies } from './policy/policies.ts'
import { validatingAdmissionPolicy } from './policy/validating.ts'
import { WebhookMetrics } from './webhook/metrics.ts'
import { mutatingAdmissionWebhook } from './webhook/plugins.ts'
import { patchOf, startWebhookServer, webhookAt } from './webhook/webhook-server.fixture.ts'

/** What users and the audit log are told besides yes and no. */

let store: Store
let feed: CacheFeed
beforeEach(async () => {
  store = await openMemoryStore()
  feed = new CacheFeed(store, systemClock, silentLogger)
  await feed.start()
})
afterEach(async () => {
  await feed[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

const kinds = new KindTable(builtinKinds)
const namespaces = listerOf<Namespace>([{ metadata: { name: 'default' } }])

async function told(plugin: AdmissionPlugin) {
  const warnings: string[] = []
  const annotations: Record<string, string> = {}
  const draft: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', namespace: 'default' },
    data: { a: '1' },
  }
  const request: AdmissionRequest = {
    operation: 'CREATE',
    kind: configMapKind,
    subresource: '',
    namespace: 'default',
    name: 'c',
    draft,
    old: undefined,
    user: { name: 'ann', groups: [] },
    dryRun: false,
    warn: (message) => void warnings.push(message),
    annotate: (key, value) => {
      annotations[key] = value
    },
  }
  await plugin.admit?.(request)
  await plugin.validate?.(request)
  return { warnings, annotations }
}

it('by a webhook', async () => {
  await using hooks = await startWebhookServer(() => ({
    ...patchOf([{ op: 'add', path: '/data/b', value: '2' }]),
    warnings: ['mind the gap'],
    auditAnnotations: { color: 'blue', number: 7 },
  }))
  const registry = new MetricsRegistry()
  const context = {
    kinds,
    namespaces,
    clock: systemClock,
    random: seededRandom(1),
    metrics: new WebhookMetrics(registry),
    resolveService: hooks.resolveService,
    conditions: new MatchConditions(kinds, masters),
    isUp: () => true,
  }
  const gone = { service: { namespace: 'default', name: 'other' }, caBundle: '' }
  const webhooks = [webhookAt('a'), webhookAt('b', { clientConfig: gone, failurePolicy: 'Ignore' })]
  const plugin = mutatingAdmissionWebhook(context, listerOf([{ metadata: { name: 'm' }, webhooks }]))
  expect(await told(plugin)).toEqual({
    warnings: ['mind the gap'],
    annotations: {
      'a.example.com/color': 'blue',
      'mutation.webhook.admission.k8s.io/round_0_index_0':
        '{"configuration":"m","webhook":"a.example.com","mutated":true}',
      'failed-open.mutating.webhook.admission.k8s.io/round_0_index_1': 'b.example.com',
      'mutation.webhook.admission.k8s.io/round_0_index_1':
        '{"configuration":"m","webhook":"b.example.com","mutated":false}',
    },
  })
  const text = registry.expose()
  expect(text).toContain('apiserver_admission_webhook_fail_open_count{name="b.example.com",type="admit"} 1')
  expect(text).toContain(
    'apiserver_admission_webhook_request_total{name="a.example.com",type="admit",operation="CREATE",rejected="false",code="200"} 1',
  )
})

it('by a policy', async () => {
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: CONFIG_MAPS,
    validations: [{ expression: 'false', message: 'never' }],
    auditAnnotations: [
      { key: 'size', valueExpression: 'string(size(object.data))' },
      { key: 'nothing', valueExpression: 'null' },
    ],
  }
  const binding = { policyName: 'p', validationActions: ['Warn', 'Audit'] }
  const list = boundPolicies(
    listerOf([{ metadata: { name: 'p' }, spec }]),
    listerOf([{ metadata: { name: 'b' }, spec: binding }]),
  )
  const context = {
    feed,
    kinds,
    namespaces,
    authorizer: masters,
    equivalents: new EquivalentKinds(kinds),
    isUp: () => true,
  }
  const plugin = validatingAdmissionPolicy(context, list, new PolicyMetrics(new MetricsRegistry(), 'validating'))
  const failure = {
    message: 'never',
    policy: 'p',
    binding: 'b',
    expressionIndex: 0,
    validationActions: ['Warn', 'Audit'],
  }
  expect(await told(plugin)).toEqual({
    warnings: ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never"],
    annotations: {
      'p/size': '1',
      'validation.policy.admission.k8s.io/validation_failure': JSON.stringify([failure]),
    },
  })
})
