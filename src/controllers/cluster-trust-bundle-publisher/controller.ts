import { createHash } from 'node:crypto'
import { clusterTrustBundleKind } from '../../api/kinds/certificates/cluster-trust-bundle.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type Controller, type ControllerContext, type ReconcileQueue, watch } from '../controller.ts'

const SIGNER = 'kubernetes.io/kube-apiserver-serving'
const PREFIX = `${SIGNER.replace('/', ':')}:`
const HASH_BYTES = 12

/** Publishes what clients trust the API server by as a ClusterTrustBundle, and takes away what they trusted before. */
export function clusterTrustBundlePublisherController({
  client,
  informers,
  rootCertificate,
}: ControllerContext & { readonly rootCertificate: string }): Controller {
  const bundles = informers.informer(clusterTrustBundleKind, { fieldSelector: `spec.signerName=${SIGNER}` })
  const resource = client.resource(clusterTrustBundleKind)
  const hash = createHash('sha256').update(rootCertificate).digest().subarray(0, HASH_BYTES).toString('hex')
  const name = PREFIX + hash
  const spec = { signerName: SIGNER, trustBundle: rootCertificate }
  return {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    watches: [watch(bundles, () => [name])],
    start: (queue: ReconcileQueue) => queue.add(name),
    async reconcile() {
      const known = bundles.get(name)
      if (!known) await resource.create({ metadata: { name }, spec })
      else if (known.spec?.trustBundle !== rootCertificate) await resource.update({ ...known, spec })
      for (const { metadata } of bundles.list())
        if (metadata.name !== name) await resource.delete(metadata.name!).catch(ignoreGone)
    },
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 404)) throw error
}
