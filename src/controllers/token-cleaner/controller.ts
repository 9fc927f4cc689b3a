import type { Secret } from '../../api/generated/core-v1.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { serviceAccountKind } from '../../api/kinds/core/service-account.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { parseTime } from '../../api/meta/time.ts'
import { ANNOTATION, NAMESPACE } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, splitKey, watch } from '../controller.ts'

const BY_ACCOUNT = 'account'

/** Deletes tokens that have lost their meaning: of ServiceAccounts that are gone, and bootstrap tokens past their end. */
export function tokenCleanerController({ client, clock, informers }: ControllerContext): Controller {
  const accounts = informers.informer(serviceAccountKind)
  const tokens = informers.informer(secretKind, {
    fieldSelector: 'type=kubernetes.io/service-account-token',
    indexes: { [BY_ACCOUNT]: accountsOf },
  })
  const bootstrapTokens = informers.informer(secretKind, {
    namespace: NAMESPACE.system,
    fieldSelector: 'type=bootstrap.kubernetes.io/token',
  })

  /** The informer may be behind: an account that is not known is asked for. */
  async function hasAccount(secret: Secret): Promise<boolean> {
    const { namespace = '', annotations } = secret.metadata
    const name = annotations?.[ANNOTATION.serviceAccountName] ?? ''
    if (name === '') return true
    const isMeant = ({ metadata }: KubernetesObject) =>
      [undefined, '', metadata.uid].includes(annotations?.[ANNOTATION.serviceAccountUid])
    const known = accounts.get(`${namespace}/${name}`)
    if (known && isMeant(known)) return true
    try {
      return isMeant(await client.resource(serviceAccountKind).namespace(namespace).get(name))
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return false
      throw error
    }
  }

  async function remove({ metadata }: Secret): Promise<void> {
    const { namespace = '', name = '', uid, resourceVersion } = metadata
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
    try {
      await client.resource(secretKind).namespace(namespace).delete(name, { preconditions })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error
    }
  }

  return {
    name: 'token-cleaner-controller',
    watches: [
      watch(tokens, (old, current) => (current ? ownKey(old, current) : [])),
      watch(accounts, (old, current) =>
        old && old.metadata.uid !== current?.metadata.uid
          ? tokens.byIndex(BY_ACCOUNT, ownKey(old, undefined)[0]!).flatMap((secret) => ownKey(secret, undefined))
          : [],
      ),
      watch(bootstrapTokens, (old, current) => (current ? ownKey(old, current) : [])),
    ],
    async reconcile(key) {
      const token = tokens.get(key)
      if (token && !(await hasAccount(token))) return remove(token)
      const bootstrapToken = splitKey(key).namespace === NAMESPACE.system ? bootstrapTokens.get(key) : undefined
      const end = bootstrapToken && expirationOf(bootstrapToken)
      if (!bootstrapToken || end === undefined) return
      if (end > clock.now()) return { retryAfter: end - clock.now() }
      await remove(bootstrapToken)
    },
  }
}

function accountsOf({ metadata }: Secret): string[] {
  const name = metadata.annotations?.[ANNOTATION.serviceAccountName]
  return name ? [`${metadata.namespace}/${name}`] : []
}

/** Undefined if the token does not end. One whose end nobody can read has ended. */
function expirationOf({ data }: Secret): number | undefined {
  const text = data?.expiration
  return text ? (parseTime(Buffer.from(text, 'base64').toString()) ?? 0) : undefined
}
