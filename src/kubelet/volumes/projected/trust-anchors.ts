import type { ClusterTrustBundleProjection } from '../../../api/generated/core-v1.ts'
import {
  type ClusterTrustBundle,
  clusterTrustBundleKind,
} from '../../../api/kinds/certificates/cluster-trust-bundle.ts'
import { pemBlocks } from '../../../api/kinds/certificates/pem.ts'
import { ApiError } from '../../../api/meta/api-error.ts'
import { compileLabelSelector, matchesLabels } from '../../../api/meta/label-selector.ts'
import type { VolumeContext } from '../volume-plugin.ts'

const LINE = /.{1,64}/g

/** The certificates of one ClusterTrustBundle, or of all that are chosen of a signer, each once, in PEM. */
export async function trustAnchors(context: VolumeContext, projection: ClusterTrustBundleProjection): Promise<string> {
  const { name, optional = false } = projection
  const bundles = name === undefined ? await ofSigner(context, projection) : await named(context, name, optional)
  if (name === undefined && bundles.length === 0 && !optional)
    throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles')
  const certificates = bundles
    .flatMap(({ spec }) => pemBlocks(spec?.trustBundle ?? ''))
    .map(({ bytes }) => bytes.toString('base64'))
  return [...new Set(certificates)].sort().map(pem).join('')
}

async function named(context: VolumeContext, name: string, optional: boolean): Promise<ClusterTrustBundle[]> {
  try {
    return [await context.client.resource<ClusterTrustBundle>(clusterTrustBundleKind).get(name)]
  } catch (error) {
    if (error instanceof ApiError && error.code === 404 && optional) return []
    throw new Error(`while getting ClusterTrustBundle: ${error instanceof Error ? error.message : error}`)
  }
}

async function ofSigner(
  context: VolumeContext,
  { signerName = '', labelSelector }: ClusterTrustBundleProjection,
): Promise<ClusterTrustBundle[]> {
  const selector = compileLabelSelector(labelSelector)
  const { items } = await context.client
    .resource<ClusterTrustBundle>(clusterTrustBundleKind)
    .list({ fieldSelector: `spec.signerName=${signerName}` })
  return items.filter(({ metadata }) => matchesLabels(selector, metadata.labels))
}

const pem = (base64: string) =>
  `-----BEGIN CERTIFICATE-----\n${(base64.match(LINE) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`
