import type { Secret, ServiceAccount } from '../../api/generated/core-v1.ts'
import { ANNOTATION, SECRET_TYPE } from '../../api/meta/well-known.ts'
import type { ServiceAccountTokens } from '../authentication/service-account-tokens.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import type { AdmissionPlugin } from './plugin.ts'

const ACCOUNTS = storagePrefix({ group: '', plural: 'serviceaccounts' })

/** Gives a Secret of the token type what it is for: a token of the account it names, which does not end by itself. */
export function tokenSecrets(
  tokens: ServiceAccountTokens,
  feed: CacheFeed,
  rootCertificate: () => Promise<string | undefined>,
): AdmissionPlugin {
  return {
    name: 'ServiceAccountTokenSecret',
    resources: ['secrets'],
    async admit({ operation, kind, namespace, draft, subresource }) {
      if (kind.group !== '' || kind.plural !== 'secrets' || subresource !== '') return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const secret = draft as Secret
      const annotations = secret.metadata.annotations
      const accountName = annotations?.[ANNOTATION.serviceAccountName]
      if (secret.type !== SECRET_TYPE.serviceAccountToken || !annotations || !accountName) return
      const account = (await feed.cache(ACCOUNTS)).get(`${ACCOUNTS}${namespace}/${accountName}`)?.object as
        | ServiceAccount
        | undefined
      const uid = account?.metadata.uid
      if (!uid || (annotations[ANNOTATION.serviceAccountUid] && annotations[ANNOTATION.serviceAccountUid] !== uid))
        return
      annotations[ANNOTATION.serviceAccountUid] = uid
      await fill(secret, namespace, { name: accountName, uid }, tokens, rootCertificate)
    },
  }
}

async function fill(
  secret: Secret,
  namespace: string,
  account: { name: string; uid: string },
  tokens: ServiceAccountTokens,
  rootCertificate: () => Promise<string | undefined>,
): Promise<void> {
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const ca = await rootCertificate()
  secret.data = {
    ...(ca !== undefined && { 'ca.crt': encode(ca) }),
    namespace: encode(namespace),
    ...secret.data,
  }
  if (!secret.data.token)
    secret.data.token = encode(await tokens.issueLegacy(namespace, account, secret.metadata.name ?? ''))
}
