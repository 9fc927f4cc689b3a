import type { ConfigMap, Namespace } from '../../api/generated/core-v1.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

const NAME = 'kube-root-ca.crt'
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'
const ANNOTATION = 'kubernetes.io/description'

/** Puts the certificate that clients trust the API server by into every namespace, where pods mount it from. */
export function rootCaPublisherController({
  client,
  informers,
  rootCertificate,
}: ControllerContext & { readonly rootCertificate: string }): Controller {
  const namespaces = informers.informer(namespaceKind)
  const configMaps = informers.informer(configMapKind, { fieldSelector: `metadata.name=${NAME}` })
  const data = { 'ca.crt': rootCertificate }
  const resource = client.resource(configMapKind)

  async function publish(namespace: string, known: ConfigMap | undefined): Promise<void> {
    const annotations = { ...known?.metadata.annotations, [ANNOTATION]: DESCRIPTION }
    if (!known) await resource.create({ metadata: { name: NAME, namespace, annotations }, data })
    else if (!deepEqual(known.data, data) || known.metadata.annotations?.[ANNOTATION] !== DESCRIPTION)
      await resource.update({ ...known, metadata: { ...known.metadata, annotations }, data })
  }

  return {
    name: 'root-ca-certificate-publisher-controller',
    workers: 5,
    watches: [
      watch(namespaces, (old, current) => (current ? ownKey(old, current) : [])),
      watch(configMaps, (old, current) => [(current ?? old)!.metadata.namespace!]),
    ],
    async reconcile(namespace) {
      if (!isActive(namespaces.get(namespace))) return
      await publish(namespace, configMaps.get(`${namespace}/${NAME}`)).catch(ignoreEnding)
    },
  }
}

const isActive = (namespace: Namespace | undefined) =>
  namespace !== undefined && namespace.metadata.deletionTimestamp === undefined

/** The namespace began to end, or is gone. */
function ignoreEnding(error: unknown): void {
  if (!(error instanceof ApiError && (error.code === 403 || error.code === 404))) throw error
}
