import { describe, expect, it } from 'vitest'
import type { Secret } from '../../generated/core-v1.ts'
import { describeRules, describeUpdateRules, type RuleRow } from './rules.contract.ts'
import { secretKind } from './secret.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const ofType = (type: string, data: Record<string, string>, ...errors: string[]): RuleRow<Secret> => [
  `${type} with ${Object.keys(data).join(' and ') || 'nothing'}`,
  (draft) => Object.assign(draft, { type, data }),
  ...errors,
]
const docker = base64('{"auths":{}}')

describeRules(secretKind, { metadata: { name: 'a' }, data: { key: 'AAEC' } }, [
  ofType('example.com/mine', {}),
  ofType('kubernetes.io/tls', { 'tls.crt': '', 'tls.key': '' }),
  ofType('kubernetes.io/tls', { 'tls.crt': '' }, 'data[tls.key]: Required value'),
  ofType('kubernetes.io/basic-auth', { password: '' }),
  ofType('kubernetes.io/basic-auth', {}, 'data[username]: Required value', 'data[password]: Required value'),
  ofType('kubernetes.io/ssh-auth', { 'ssh-privatekey': 'AAEC' }),
  ofType('kubernetes.io/ssh-auth', { 'ssh-privatekey': '' }, 'data[ssh-privatekey]: Required value'),
  ofType('kubernetes.io/dockerconfigjson', { '.dockerconfigjson': docker }),
  ofType('kubernetes.io/dockerconfigjson', {}, 'data[.dockerconfigjson]: Required value'),
  ofType(
    'kubernetes.io/dockercfg',
    { '.dockercfg': base64('{') },
    'data[.dockercfg]: Invalid value: "<secret contents redacted>": must be valid JSON',
  ),
  ofType(
    'kubernetes.io/service-account-token',
    {},
    'metadata.annotations[kubernetes.io/service-account.name]: Required value',
  ),
  [
    'too much data',
    (draft) => {
      draft.data = { a: base64('x'.repeat(1024 * 1024 + 1)) }
    },
    'data: Too long: may not be more than 1048576 bytes',
  ],
])

describeUpdateRules(secretKind, { metadata: { name: 'a' }, data: { key: 'AAEC' }, immutable: true }, [
  [
    'another type',
    (draft) => {
      draft.type = 'example.com/x'
    },
    'type: Invalid value: "example.com/x": field is immutable',
  ],
  [
    'other data of an immutable one',
    (draft) => {
      draft.data = {}
    },
    'data: Forbidden: field is immutable when `immutable` is set',
  ],
])

describe('Secret defaults', () => {
  it('merges stringData into data and gives a type', () => {
    const secret: Secret = { metadata: {}, data: { a: 'AAEC', b: 'AAEC' }, stringData: { b: 'hällo' } }
    secretKind.defaults?.(secret)
    expect(secret).toEqual({ metadata: {}, type: 'Opaque', data: { a: 'AAEC', b: base64('hällo') } })
  })
})

describe('Secret warnings', () => {
  const pem = (type: string) => base64(`-----BEGIN ${type}-----\nAAEC\n-----END ${type}-----\n`)
  it.each([
    ['', '', 'tls: failed to find any PEM data in certificate input'],
    [pem('CERTIFICATE'), '', 'tls: failed to find any PEM data in key input'],
    [pem('CERTIFICATE'), pem('PRIVATE KEY'), 'tls: failed to parse the certificate or its private key'],
  ])('for certificate %s and key %s', (certificate, key, warning) => {
    const secret: Secret = { metadata: {}, type: 'kubernetes.io/tls', data: { 'tls.crt': certificate, 'tls.key': key } }
    expect(secretKind.warnings?.(secret, undefined)).toEqual([warning])
    expect(secretKind.warnings?.({ ...secret, type: 'Opaque' }, undefined)).toEqual([])
  })
})
