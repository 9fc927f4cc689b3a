import { readBootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import {
  CLUSTER_INFO,
  CLUSTER_INFO_KUBECONFIG,
  detachedSignature,
  SIGNATURE_PREFIX,
} from '../../api/kinds/core/cluster-info.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'

const KEY = `${CLUSTER_INFO.namespace}/${CLUSTER_INFO.name}`

/** Signs how the cluster is reached for each bootstrap token, so that who holds one knows it was not told by another. */
export function bootstrapSignerController({ client, clock, informers }: ControllerContext): Controller {
  const infos = informers.informer(configMapKind, {
    namespace: CLUSTER_INFO.namespace,
    fieldSelector: `metadata.name=${CLUSTER_INFO.name}`,
  })
  const secrets = informers.informer(secretKind, {
    namespace: NAMESPACE.system,
    fieldSelector: 'type=bootstrap.kubernetes.io/token',
  })

  function signingTokens() {
    const tokens = secrets.list().flatMap((secret) => readBootstrapToken(secret) ?? [])
    return tokens.filter(
      ({ usages, expiration }) => usages.includes('signing') && (expiration ?? Number.POSITIVE_INFINITY) > clock.now(),
    )
  }

  return {
    name: 'bootstrap-signer-controller',
    watches: [watch(infos, () => [KEY]), watch(secrets, () => [KEY])],
    async reconcile() {
      const info = infos.get(KEY)
      const content = info?.data?.[CLUSTER_INFO_KUBECONFIG]
      if (!info || content === undefined) return
      const others = Object.entries(info.data ?? {}).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX))
      const tokens = signingTokens()
      const signatures = tokens.map(
        (token) => [SIGNATURE_PREFIX + token.id, detachedSignature(content, token)] as const,
      )
      const data = Object.fromEntries([...others, ...signatures])
      if (!deepEqual(data, info.data)) await client.resource(configMapKind).update({ ...info, data })
      const ends = tokens.flatMap(({ expiration }) => expiration ?? [])
      if (ends.length > 0) return { retryAfter: Math.min(...ends) - clock.now() }
    },
  }
}
