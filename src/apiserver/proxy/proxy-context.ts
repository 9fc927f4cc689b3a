import type { Duplex } from 'node:stream'
import type { Kind } from '../../api/kind.ts'
import { objectNotFound } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { ConnectAttempt } from '../admission/connect.ts'
import { type Authorizer, authorize } from '../authorization/authorizer.ts'
import type { Exchange } from '../http/exchange.ts'
import type { UserInfo } from '../identity.ts'
import type { KubeletConnector } from '../kubelet-connector.ts'
import type { ResourceInfo } from '../request/request-info.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { objectKey, storagePrefix } from '../watch-cache/storage-key.ts'

export interface ProxyContext {
  readonly feed: CacheFeed
  readonly clock: Clock
  readonly random: Random
  readonly authorizer: Authorizer
  readonly kubelets: KubeletConnector | undefined
  /** Throws if somebody refuses the connection. */
  admit?(attempt: ConnectAttempt): Promise<void>
  /** A connection to a pod or to a node's other ports. */
  dial(address: { readonly host: string; readonly port: number }, signal: AbortSignal): Promise<Duplex>
}

/** A request that is handed on, after it was found that its sender may. */
export interface ConnectRequest {
  readonly exchange: Exchange
  readonly info: ResourceInfo
  readonly user: UserInfo
  /** With every value of every name. */
  readonly query: URLSearchParams
  /** Adds to the audit event, where there is one. */
  readonly annotate: ((key: string, value: string) => void) | undefined
}

export type ConnectHandler = (context: ProxyContext, request: ConnectRequest) => Promise<void>

/** An object of the cache; who asks for one that is not there gets a 404. */
export async function find<T extends KubernetesObject>(
  { feed }: ProxyContext,
  kind: Kind<T>,
  namespace: string,
  name: string,
): Promise<T> {
  const prefix = storagePrefix(kind)
  const cache = await feed.cache(prefix)
  const found = cache.get(objectKey(prefix, kind.namespaced, namespace, name))
  if (!found) throw objectNotFound({ group: kind.group, resource: kind.plural }, name)
  return found.object as T
}

/** WebSocket clients ask with GET. It is the same deed as with POST, so the right to read is not enough. */
export async function mayCreate({ authorizer }: ProxyContext, { exchange, info, user }: ConnectRequest): Promise<void> {
  if (exchange.method === 'GET') await authorize(authorizer, user, { verb: 'create', resource: info })
}
