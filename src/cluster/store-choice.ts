/** Where a cluster keeps its state: in memory, in its data directory, or in etcd (`etcd://host:port,host:port`). */
export type StoreChoice =
  | { readonly type: 'memory' }
  | { readonly type: 'embedded' }
  | { readonly type: 'etcd'; readonly endpoints: readonly string[]; readonly tls?: EtcdCredentials }

/** PEM texts. Without `ca` the system's authorities are trusted. */
export interface EtcdCredentials {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Understands `memory`, `embedded` and `etcd://host:port,...`; throws a sentence a user can act on. */
export function parseStoreChoice(text: string): StoreChoice {
  if (text === 'memory' || text === 'embedded') return { type: text }
  const etcd = /^etcd(s?):\/\/(.+)$/.exec(text)
  if (!etcd) throw new Error(`${JSON.stringify(text)} is no store: use embedded, memory or etcd://host:port,host:port`)
  const scheme = etcd[1] === 's' ? 'https' : 'http'
  const endpoints = etcd[2]!.replace(/\/$/, '').split(',')
  const wrong = endpoints.find((endpoint) => !/^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):\d{1,5}$/.test(endpoint))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is no etcd endpoint: write host:port`)
  return { type: 'etcd', endpoints: endpoints.map((endpoint) => `${scheme}://${endpoint}`) }
}
