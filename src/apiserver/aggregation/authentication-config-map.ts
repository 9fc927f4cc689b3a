import type { ConfigMap } from '../../api/generated/core-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'

const CONFIG_MAPS: ResourceType = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const NAME = 'extension-apiserver-authentication'

export interface FrontProxy {
  /** PEM of the authority that signed the certificate, and signs nothing else. */
  readonly ca: string
  /** What this server shows them; asked for when there are such servers. */
  client(): { readonly cert: string; readonly key: string }
}

/** The name in the certificate. */
export const FRONT_PROXY_NAME = 'front-proxy-client'

/** Tells extension API servers whom to believe: users by their certificates, and this server when it names users. */
export async function publishAuthentication(
  transport: Transport,
  clientCa: string | undefined,
  frontProxy: FrontProxy | undefined,
): Promise<void> {
  const data = {
    ...(clientCa && { 'client-ca-file': clientCa }),
    ...(frontProxy && {
      'requestheader-allowed-names': JSON.stringify([FRONT_PROXY_NAME]),
      'requestheader-client-ca-file': frontProxy.ca,
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    }),
  }
  const place = { resource: CONFIG_MAPS, namespace: NAMESPACE.system }
  const found = (await transport.call({ ...place, verb: 'get', name: NAME }).catch(ifMissing)) as ConfigMap | undefined
  if (found && deepEqual(found.data, data)) return
  const body = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: NAME, namespace: NAMESPACE.system }, data }
  if (found) await transport.call({ ...place, verb: 'update', name: NAME, body: { ...found, data } })
  else await transport.call({ ...place, verb: 'create', body })
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.code !== 404) throw error
}
