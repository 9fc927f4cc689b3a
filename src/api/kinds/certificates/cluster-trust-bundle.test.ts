import { expect, it } from 'vitest'
import { systemClock } from '../../../base/clock.ts'
import { loadCertificates } from '../../../cluster/certificates.ts'
import { parseFeatureGates } from '../../feature-gates.ts'
import { describeRules, describeUpdateRules } from '../core/rules.contract.ts'
import { type ClusterTrustBundle, clusterTrustBundleKind } from './cluster-trust-bundle.ts'

const names = { clock: systemClock, serverNames: ['localhost'] }
const { ca, server } = await loadCertificates(names)
const other = (await loadCertificates(names)).ca.cert
const block = (type: string, text = 'AAAA') => `-----BEGIN ${type}-----\n${text}\n-----END ${type}-----\n`

const bundle = (): ClusterTrustBundle => ({
  metadata: { name: 'example.com:web:v1' },
  spec: { signerName: 'example.com/web', trustBundle: `who this is\n${ca.cert}${other}` },
})
const trusting =
  (...parts: string[]) =>
  (draft: ClusterTrustBundle) => {
    draft.spec!.trustBundle = parts.join('')
  }
const wrong = (message: string) => `spec.trustBundle: Invalid value: "<value omitted>": ${message}`

describeRules(clusterTrustBundleKind, bundle(), [
  ['nothing', trusting(), wrong('at least one trust anchor must be provided')],
  ['no certificate', trusting(ca.cert, block('PRIVATE KEY')), wrong('entry 1 has bad block type: PRIVATE KEY')],
  ['noise', trusting(block('CERTIFICATE')), wrong('entry 0 does not parse as X.509')],
  ['headers', trusting(block('CERTIFICATE', 'a: b\n\nAAAA')), wrong('entry 0 has PEM block headers')],
  ['no authority', trusting(server.cert), wrong('entry 0 does not have the CA bit set')],
  ['one twice', trusting(ca.cert, other, ca.cert), wrong('duplicate trust anchor (indices [0 2])')],
  ['too much', trusting('x'.repeat(1024 * 1024 + 1)), 'spec.trustBundle: Too long: may not be more than 1048576 bytes'],
  [
    'the name of another signer',
    ({ metadata }) => {
      metadata.name = 'example.com:api:v1'
    },
    'metadata.name: Invalid value: "example.com:api:v1": ClusterTrustBundle for signerName example.com/web must be named with prefix example.com:web:',
  ],
  [
    'a signer that is none',
    ({ metadata, spec }) => {
      metadata.name = 'web:v1'
      spec!.signerName = 'web'
    },
    `spec.signerName: Invalid value: "web": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
  ],
  [
    'the name of a signer without one',
    ({ spec }) => {
      delete spec!.signerName
    },
    'metadata.name: Invalid value: "example.com:web:v1": ClusterTrustBundle without signer name must not have ":" in its name',
  ],
  [
    'no signer',
    ({ metadata, spec }) => {
      metadata.name = 'ours'
      delete spec!.signerName
    },
  ],
])

describeUpdateRules(clusterTrustBundleKind, bundle(), [
  ['another bundle', trusting(other)],
  [
    'another signer',
    ({ spec }) => {
      spec!.signerName = 'example.com/api'
    },
    'spec.signerName: Invalid value: "example.com/api": field is immutable',
  ],
])

it('feature gates are read as kube-apiserver reads them', () => {
  expect(parseFeatureGates('ClusterTrustBundle=true,ClusterTrustBundleProjection=false')).toEqual([
    'ClusterTrustBundle',
  ])
  expect(() => parseFeatureGates('Other=true')).toThrow('unrecognized feature gate: Other')
  expect(() => parseFeatureGates('ClusterTrustBundle')).toThrow('invalid value of ClusterTrustBundle=')
})
