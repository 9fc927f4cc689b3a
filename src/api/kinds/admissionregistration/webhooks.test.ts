import { describe, expect, it } from 'vitest'
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../../generated/admissionregistration-v1.ts'
import { describeRules } from '../core/rules.contract.ts'
import { mutatingWebhookConfigurationKind } from './mutating-webhook-configuration.ts'
import { validatingWebhookConfigurationKind } from './validating-webhook-configuration.ts'

const webhook = (): ValidatingWebhook => ({
  name: 'check.example.com',
  clientConfig: { service: { namespace: 'shop', name: 'hook', path: '/check' } },
  rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods', 'pods/status'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
})
const hook = (change: Partial<ValidatingWebhook>) => (draft: ValidatingWebhookConfiguration) => {
  Object.assign(draft.webhooks![0]!, change)
}
const resources = (...names: string[]) =>
  hook({ rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: names }] })
const RESOURCES = 'webhooks[0].rules[0].resources'
const FORM = '; desired format: https://host[/path]'

describeRules(validatingWebhookConfigurationKind, { metadata: { name: 'a' }, webhooks: [webhook()] }, [
  ['no webhooks', (draft) => delete draft.webhooks],
  [
    'a short name',
    hook({ name: 'check' }),
    'webhooks[0].name: Invalid value: "check": should be a domain with at least three segments separated by dots',
  ],
  [
    'the same name twice',
    (draft) => draft.webhooks!.push(webhook()),
    'webhooks[1].name: Duplicate value: "check.example.com"',
  ],
  [
    'no side effects said, no versions',
    (draft) => Object.assign(draft.webhooks![0]!, { sideEffects: undefined, admissionReviewVersions: [] }),
    'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
    'webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1',
  ],
  [
    'side effects',
    hook({ sideEffects: 'Some' }),
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  ],
  [
    'versions nobody speaks',
    hook({ admissionReviewVersions: ['v7', 'v7'] }),
    'webhooks[0].admissionReviewVersions[1]: Invalid value: "v7": duplicate version',
    'webhooks[0].admissionReviewVersions: Invalid value: ["v7","v7"]: must include at least one of v1, v1beta1',
  ],
  [
    'too much patience',
    hook({ timeoutSeconds: 31 }),
    'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
  ],
  [
    'nowhere',
    hook({ clientConfig: {} }),
    'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
  ],
  [
    'plain http, with a user and a query',
    hook({ clientConfig: { url: 'http://me@a/x?y' } }),
    `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${FORM}`,
    'webhooks[0].clientConfig.url: Invalid value: "me": user information is not permitted in the URL',
    'webhooks[0].clientConfig.url: Invalid value: "y": query parameters are not permitted in the URL',
  ],
  [
    'a relative URL',
    hook({ clientConfig: { url: 'hook' } }),
    `webhooks[0].clientConfig.url: Invalid value: "": 'https' is the only allowed URL scheme${FORM}`,
    `webhooks[0].clientConfig.url: Invalid value: "": host must be specified${FORM}`,
  ],
  [
    'a service with an odd path',
    hook({ clientConfig: { service: { namespace: '', name: 'a', path: '/a//b' } } }),
    'webhooks[0].clientConfig.service.namespace: Required value',
    'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
  ],
  [
    'a rule about nothing',
    hook({ rules: [{}] }),
    'webhooks[0].rules[0].operations: Required value',
    'webhooks[0].rules[0].apiGroups: Required value',
    'webhooks[0].rules[0].apiVersions: Required value',
    'webhooks[0].rules[0].resources: Required value',
  ],
  [
    'a wildcard and more',
    resources('*', 'pods'),
    `${RESOURCES}: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`,
  ],
  [
    'covered by an earlier wildcard',
    resources('pods/*', 'pods/log'),
    `${RESOURCES}[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
  ],
  ['everything and subresources', resources('*', '*/scale')],
  [
    'match conditions without name and expression',
    hook({ matchConditions: [{ name: '', expression: ' ' }] }),
    'webhooks[0].matchConditions[0].expression: Required value',
    'webhooks[0].matchConditions[0].name: Required value',
  ],
  [
    'a match condition twice',
    hook({
      matchConditions: [
        { name: 'a', expression: 'true' },
        { name: 'a', expression: 'true' },
      ],
    }),
    'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
  ],
])

describeRules(mutatingWebhookConfigurationKind, { metadata: { name: 'a' }, webhooks: [webhook()] }, [
  [
    'a reinvocation policy of its own',
    (draft) => {
      draft.webhooks![0]!.reinvocationPolicy = 'Often'
    },
    'webhooks[0].reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
  ],
])

describe('webhook configurations', () => {
  it('get upstream’s defaults', () => {
    const draft: MutatingWebhookConfiguration = { metadata: { name: 'a' }, webhooks: [webhook()] }
    mutatingWebhookConfigurationKind.defaults?.(draft)
    expect(draft.webhooks?.[0]).toMatchObject({
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      reinvocationPolicy: 'Never',
      rules: [{ scope: '*' }],
      clientConfig: { service: { port: 443 } },
    })
  })

  it('count their changes', () => {
    const old: ValidatingWebhookConfiguration = { metadata: { name: 'a', generation: 4 }, webhooks: [webhook()] }
    const draft: ValidatingWebhookConfiguration = { metadata: { name: 'a', labels: { a: 'b' } }, webhooks: [webhook()] }
    validatingWebhookConfigurationKind.prepareUpdate?.(draft, old)
    expect(draft.metadata.generation).toBe(4)
    draft.webhooks = []
    validatingWebhookConfigurationKind.prepareUpdate?.(draft, old)
    expect(draft.metadata.generation).toBe(5)
  })
})
