import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { mayActForSigner } from './signer-permission.ts'

const BUNDLES = { group: 'certificates.k8s.io', resource: 'clustertrustbundles' }
type Bundle = KubernetesObject & { readonly spec?: { readonly signerName?: string } }

/** What is said to be trusted of a signer may be said by those who may attest for it. */
export function clusterTrustBundleAttest(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    resources: ['clustertrustbundles.certificates.k8s.io'],
    async validate({ operation, kind, draft, old, user, name }) {
      if (kind.plural !== BUNDLES.resource || kind.group !== BUNDLES.group || !draft) return
      const signerName = (draft as Bundle).spec?.signerName
      if (!signerName || (operation === 'UPDATE' && old && isOnlyCollected(draft, old))) return
      if (await mayActForSigner(authorizer, user, 'attest', signerName)) return
      const why = `user not permitted to attest for signerName ${JSON.stringify(signerName)}`
      throw forbiddenAccess(BUNDLES, name, why)
    },
  }
}

/** The garbage collector touches nothing but what holds an object. */
function isOnlyCollected(draft: KubernetesObject, old: KubernetesObject): boolean {
  const { ownerReferences, finalizers, managedFields } = old.metadata
  const metadata = { ...draft.metadata, ownerReferences, finalizers, managedFields }
  const isOther =
    !deepEqual(draft.metadata.ownerReferences, ownerReferences) || !deepEqual(draft.metadata.finalizers, finalizers)
  return (
    isOther &&
    deepEqual(
      { ...draft, metadata },
      { ...old, metadata: { ...old.metadata, ownerReferences, finalizers, managedFields } },
    )
  )
}
