import { X509Certificate } from 'node:crypto'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, tooLong } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isDns1123Subdomain, isPathSegmentName } from '../../meta/names.ts'
import type { KubernetesObject } from '../../meta/object.ts'
import { builtinSchema } from '../../schema/builtin.ts'
import { column, nameColumn } from '../core/printed-columns.ts'
import { pemBlocks } from './pem.ts'
import { validateSignerName } from './signer-name.ts'

export interface ClusterTrustBundle extends KubernetesObject {
  spec?: {
    /** Whose certificates these authorities sign; nobody's in particular when absent. */
    signerName?: string
    /** Certificates of authorities, in PEM. */
    trustBundle?: string
  }
}

const SPEC = FieldPath.root('spec')
const BUNDLE = SPEC.child('trustBundle')
const NAME = FieldPath.root('metadata').child('name')
const MAX_BYTES = 1024 * 1024
const OMITTED = '<value omitted>'

/** Served with the feature gate ClusterTrustBundle (https://kep.k8s.io/3257). */
export const clusterTrustBundleKind = defineKind<ClusterTrustBundle>({
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  kind: 'ClusterTrustBundle',
  plural: 'clustertrustbundles',
  namespaced: false,
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: builtinSchema('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'),
      spec: {
        type: 'object',
        required: ['trustBundle'],
        properties: { signerName: { type: 'string' }, trustBundle: { type: 'string' } },
      },
    },
  },
  validateName: isPathSegmentName,
  validate: (bundle) => [...validateNames(bundle), ...validateBundle(bundle.spec?.trustBundle ?? '')],
  validateUpdate: (bundle, old) =>
    bundle.spec?.signerName === old.spec?.signerName
      ? []
      : [invalid(SPEC.child('signerName'), bundle.spec?.signerName ?? '', 'field is immutable')],
  selectableFields: { 'spec.signerName': ({ spec }) => spec?.signerName ?? '' },
  columns: [
    nameColumn,
    column<ClusterTrustBundle>(
      'SignerName',
      'Whose certificates it is for.',
      ({ spec }) => spec?.signerName || '<none>',
    ),
  ],
})

function validateNames({ metadata, spec }: ClusterTrustBundle): FieldError[] {
  const { name = '' } = metadata
  const signerName = spec?.signerName ?? ''
  const errors = clusterTrustBundleNameProblems(name, signerName).map((message) => invalid(NAME, name, message))
  return signerName === '' ? errors : [...errors, ...validateSignerName(signerName, SPEC.child('signerName'))]
}

/** The bundles of a signer have its name in front: `example.com:signer:name`. */
export function clusterTrustBundleNameProblems(name: string, signerName: string): string[] {
  if (signerName === '')
    return name.includes(':')
      ? ['ClusterTrustBundle without signer name must not have ":" in its name']
      : isDns1123Subdomain(name)
  const prefix = `${signerName.replaceAll('/', ':')}:`
  return name.startsWith(prefix)
    ? isDns1123Subdomain(name.slice(prefix.length))
    : [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`]
}

/** Certificates of authorities and nothing else, each once. */
function validateBundle(text: string): FieldError[] {
  if (Buffer.byteLength(text) > MAX_BYTES) return [tooLong(BUNDLE, MAX_BYTES)]
  const places = new Map<string, number[]>()
  const errors: FieldError[] = []
  for (const [i, { type, hasHeaders, bytes }] of pemBlocks(text).entries()) {
    const problem = anchorProblem(type, hasHeaders, bytes)
    if (problem) errors.push(invalid(BUNDLE, OMITTED, `entry ${i} ${problem}`))
    const key = bytes.toString('base64')
    places.set(key, [...(places.get(key) ?? []), i])
  }
  if (errors.length > 0) return errors
  if (places.size === 0) errors.push(invalid(BUNDLE, OMITTED, 'at least one trust anchor must be provided'))
  for (const indices of places.values())
    if (indices.length > 1)
      errors.push(invalid(BUNDLE, OMITTED, `duplicate trust anchor (indices [${indices.join(' ')}])`))
  return errors
}

function anchorProblem(type: string, hasHeaders: boolean, bytes: Buffer): string | undefined {
  if (type !== 'CERTIFICATE') return `has bad block type: ${type}`
  if (hasHeaders) return 'has PEM block headers'
  try {
    return new X509Certificate(bytes).ca ? undefined : 'does not have the CA bit set'
  } catch {
    return 'does not parse as X.509'
  }
}
