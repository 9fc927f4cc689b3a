import type {
  ClusterTrustBundleProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { validateLabelSelector } from '../../../meta/label-selector.ts'
import { clusterTrustBundleNameProblems } from '../../certificates/cluster-trust-bundle.ts'
import { validateSignerName } from '../../certificates/signer-name.ts'
import { validateDownwardFile, validateItems } from './volume-files-validation.ts'
import { checkFilePath } from './volume-paths.ts'

const CONFLICT = 'conflicting duplicate paths'
const SOURCE_FIELDS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle'] as const
const MAX_EXPIRATION = 2 ** 32

/** Several sources in one directory: no two may write the same file. */
export function validateProjected(projected: ProjectedVolumeSource, path: FieldPath, errors: FieldError[]): void {
  const files = new Set<string>()
  const claim = (file: string | undefined, shown: unknown) => {
    if (!file) return
    if (files.has(file)) errors.push(invalid(path, shown, CONFLICT))
    else files.add(file)
  }
  projected.sources?.forEach((source, i) => {
    const at = path.child('sources').index(i)
    if (SOURCE_FIELDS.filter((field) => source[field]).length > 1)
      errors.push(forbidden(at, 'may not specify more than 1 volume type per source'))
    for (const field of ['secret', 'configMap'] as const) checkKeys(source, field, at.child(field), claim, errors)
    source.downwardAPI?.items?.forEach((file) => {
      validateDownwardFile(file, at.child('downwardAPI'), errors)
      claim(file.path, file.path)
    })
    if (source.serviceAccountToken)
      checkToken(source.serviceAccountToken, path, at.child('serviceAccountToken'), claim, errors)
    if (source.clusterTrustBundle)
      checkTrustBundle(source.clusterTrustBundle, at.child('clusterTrustBundle'), claim, errors)
  })
}

type Claim = (file: string | undefined, shown: unknown) => void

function checkKeys(
  source: VolumeProjection,
  field: 'secret' | 'configMap',
  path: FieldPath,
  claim: Claim,
  errors: FieldError[],
): void {
  const projection = source[field]
  if (!projection) return
  if (!projection.name) errors.push(required(path.child('name')))
  validateItems(projection.items, path.child('items'), errors)
  for (const item of projection.items ?? []) claim(item.path, projection.name)
}

function checkToken(
  token: ServiceAccountTokenProjection,
  volumePath: FieldPath,
  path: FieldPath,
  claim: Claim,
  errors: FieldError[],
): void {
  const seconds = token.expirationSeconds ?? 0
  const at = path.child('expirationSeconds')
  if (seconds < 600) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'))
  if (seconds > MAX_EXPIRATION) errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'))
  if (!token.path) errors.push(required(volumePath.child('path')))
  else checkFilePath(token.path, volumePath.child('path'), errors)
  claim(token.path, token.path)
}

function checkTrustBundle(
  bundle: ClusterTrustBundleProjection,
  path: FieldPath,
  claim: Claim,
  errors: FieldError[],
): void {
  const { name, signerName, labelSelector } = bundle
  if (name !== undefined && signerName !== undefined)
    errors.push(invalid(path, bundle, 'only one of name and signerName may be used'))
  else if (name !== undefined) {
    if (name === '') errors.push(required(path.child('name'), 'must be a valid object name'))
    const signer = name.includes(':') ? name.slice(0, name.lastIndexOf(':')).replaceAll(':', '/') : ''
    for (const message of clusterTrustBundleNameProblems(name, signer))
      errors.push(invalid(path.child('name'), name, `not a valid clustertrustbundlename: ${message}`))
    if (labelSelector)
      errors.push(
        invalid(path.child('labelSelector'), labelSelector, 'labelSelector must be unset if name is specified'),
      )
  } else if (signerName !== undefined) {
    if (signerName === '') errors.push(required(path.child('signerName'), 'must be a valid signer name'))
    errors.push(...validateSignerName(signerName, path.child('signerName')))
    errors.push(...validateLabelSelector(labelSelector, path.child('labelSelector')))
  } else errors.push(required(path, 'either name or signerName must be specified'))
  if (!bundle.path) errors.push(required(path.child('path')))
  else checkFilePath(bundle.path, path.child('path'), errors)
  claim(bundle.path, bundle.path)
}
