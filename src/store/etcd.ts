import { type Clock, systemClock } from '../base/clock.ts'
import { compactRegularly } from './compact-regularly.ts'
import { type CallTypes, Connection, type EtcdTls } from './etcd/connection.ts'
import { asStoreError, isCompacted, isFuture } from './etcd/errors.ts'
import { isMarker, KeySpace, prefixRange, startAfter } from './etcd/keys.ts'
import {
  COMPARE_MOD,
  CompactionRequest,
  CompactionResponse,
  RangeRequest,
  RangeResponse,
  StatusRequest,
  StatusResponse,
  TxnRequest,
  TxnResponse,
} from './etcd/messages.ts'
import { answersInOrder, progressByAnswer, progressByMarker } from './etcd/progress.ts'
import { encodeStored } from './etcd/stored-value.ts'
import { EtcdWatch, type WatchContext } from './etcd/watch.ts'
import {
  type ChangeBatch,
  CompactedError,
  type Condition,
  ConflictError,
  type Entry,
  FutureRevisionError,
  type Page,
  type Revision,
  type Store,
  type Write,
} from './store.ts'

export type { EtcdTls } from './etcd/connection.ts'

export interface EtcdStoreOptions {
  /** `http://host:port`, `https://host:port` or `host:port`; any member of the cluster will do. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  /** Everything is kept below this prefix, so that one etcd can serve several stores. */
  readonly prefix?: string
  /** Milliseconds after which a call fails as unavailable; 5,000 unless told. */
  readonly timeout?: number
  readonly clock?: Clock
  /** Milliseconds of history that are kept at least; 5 minutes unless told. etcd itself forgets nothing. */
  readonly historyInterval?: number
}

const TIMEOUT = 5000
/** How long a commit waits for this process' own watches to show it. */
const HANDING_OVER = 1000

const RANGE = { request: RangeRequest, response: RangeResponse }
const TXN = { request: TxnRequest, response: TxnResponse }
const COMPACTION = { request: CompactionRequest, response: CompactionResponse }
const STATUS = { request: StatusRequest, response: StatusResponse }

/** Connects to etcd; throws `UnavailableError` if no member answers. gRPC is loaded only here. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdStore> {
  if (options.endpoints.length === 0) throw new RangeError('etcd needs at least one endpoint')
  const grpc = await import('@grpc/grpc-js')
  const clock = options.clock ?? systemClock
  const connection = new Connection(grpc, { ...options, clock, timeout: options.timeout ?? TIMEOUT })
  try {
    const { version = '' } = await connection.call('/etcdserverpb.Maintenance/Status', STATUS, {}, true)
    return new EtcdStore(connection, { ...options, clock, version })
  } catch (error) {
    connection.close()
    throw asStoreError(error)
  }
}

/** Revisions are etcd's own. One commit may have as many writes as etcd takes in a transaction: 128 unless configured. */
export class EtcdStore implements Store {
  readonly #connection: Connection
  readonly #keys: KeySpace
  readonly #clock: Clock
  readonly #context: WatchContext
  readonly #watches = new Set<EtcdWatch>()
  readonly #compaction: Disposable

  constructor(connection: Connection, options: EtcdStoreOptions & { clock: Clock; version: string }) {
    const { clock, version } = options
    const keys = new KeySpace(options.prefix ?? '')
    this.#connection = connection
    this.#keys = keys
    this.#clock = clock
    const progress = answersInOrder(version) ? progressByAnswer : progressByMarker((write) => this.commit([], [write]))
    this.#context = { connection, keys, clock, progress }
    this.#compaction = compactRegularly(this, clock, options.historyInterval)
  }

  async revision(): Promise<Revision> {
    const response = await this.#range({ key: this.#keys.toEtcd('\0'), limit: 1, keys_only: true })
    return response.header?.revision ?? 0
  }

  async get(key: string, at?: Revision): Promise<Entry | undefined> {
    const { kvs } = await this.#range({ key: this.#keys.toEtcd(key), revision: at }, at)
    return kvs?.[0] && this.#keys.entry(kvs[0])
  }

  async list(prefix: string, page: { after?: string; limit?: number; at?: Revision } = {}): Promise<Page> {
    const { after, limit, at } = page
    const { key, range_end } = prefixRange(this.#keys.toEtcd(prefix))
    const start = startAfter(key, after === undefined ? undefined : this.#keys.toEtcd(after))
    // etcd takes a start behind the end for an error of the caller.
    if (range_end.length > 0 && range_end[0] !== 0 && start.compare(range_end) >= 0) {
      return { entries: [], revision: at ?? (await this.revision()), remaining: 0 }
    }
    const response = await this.#range({ key: start, range_end, limit, revision: at }, at)
    const kvs = response.kvs ?? []
    const entries = kvs.map((kv) => this.#keys.entry(kv)).filter((entry) => !isMarker(entry.key))
    return { entries, revision: at ?? response.header?.revision ?? 0, remaining: (response.count ?? 0) - kvs.length }
  }

  async commit(conditions: readonly Condition[], writes: readonly Write[]): Promise<Revision> {
    if (new Set(writes.map((write) => write.key)).size < writes.length) {
      throw new RangeError('a key is written twice in one commit')
    }
    const { header, succeeded, responses } = await this.#call('/etcdserverpb.KV/Txn', TXN, {
      compare: conditions.map(({ key, revision }) => ({
        target: COMPARE_MOD,
        key: this.#keys.toEtcd(key),
        mod_revision: revision,
      })),
      success: writes.map((write) => this.#operation(write)),
      failure: conditions.map(({ key }) => ({ request_range: { key: this.#keys.toEtcd(key), keys_only: true } })),
    })
    if (!succeeded) {
      const failed = conditions.find(({ revision }, i) => {
        const kv = responses?.[i]?.response_range?.kvs?.[0]
        return (kv?.mod_revision ?? 0) !== revision
      })
      throw new ConflictError(failed?.key ?? '')
    }
    const revision = header?.revision ?? 0
    await this.#handedOver(writes, revision)
    return revision
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    const watch: EtcdWatch = new EtcdWatch(this.#context, prefix, after, signal, () => this.#watches.delete(watch))
    this.#watches.add(watch)
    return watch.start()
  }

  requestProgress(): void {
    for (const watch of this.#watches) watch.requestProgress()
  }

  async compact(upTo: Revision): Promise<void> {
    try {
      await this.#connection.call('/etcdserverpb.KV/Compact', COMPACTION, { revision: upTo }, true)
    } catch (error) {
      if (isCompacted(error)) return
      if (isFuture(error)) throw new FutureRevisionError(upTo, await this.revision())
      throw asStoreError(error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#compaction[Symbol.dispose]()
    for (const watch of this.#watches) watch.end()
    this.#connection.close()
  }

  #operation({ key, value, revisionSlot }: Write) {
    const name = this.#keys.toEtcd(key)
    if (!value) return { request_delete_range: { key: name } }
    return { request_put: { key: name, value: encodeStored(value, revisionSlot) } }
  }

  async #range(request: Parameters<typeof RangeRequest.encode>[0], at?: Revision) {
    if (at !== undefined && at < 1) throw new CompactedError(at, 1)
    try {
      return await this.#connection.call('/etcdserverpb.KV/Range', RANGE, request, true)
    } catch (error) {
      if (isCompacted(error)) throw new CompactedError(at ?? 0, await this.#oldest())
      if (isFuture(error)) throw new FutureRevisionError(at ?? 0, await this.revision())
      throw asStoreError(error)
    }
  }

  async #call<Q, A>(method: string, types: CallTypes<Q, A>, request: Q): Promise<A> {
    try {
      return await this.#connection.call(method, types, request, false)
    } catch (error) {
      throw asStoreError(error)
    }
  }

  /** Only a watch is told by etcd what has been compacted. */
  async #oldest(): Promise<Revision> {
    const abort = new AbortController()
    const probe = new EtcdWatch(this.#context, '\0', 0, abort.signal, () => {}).start()
    const timer = this.#clock.after(TIMEOUT, () => abort.abort())
    try {
      await probe.next()
      return 1
    } catch (error) {
      return error instanceof CompactedError ? error.oldest : 1
    } finally {
      timer.cancel()
      abort.abort()
    }
  }

  /** Waits until the watches of this process that are concerned have been handed the revision. */
  async #handedOver(writes: readonly Write[], revision: Revision): Promise<void> {
    const concerned = [...this.#watches].filter((watch) => writes.some(({ key }) => key.startsWith(watch.prefix)))
    if (concerned.length === 0) return
    const abort = new AbortController()
    const enough = this.#clock.sleep(HANDING_OVER, abort.signal).catch(() => {})
    await Promise.race([Promise.all(concerned.map((watch) => watch.handed(revision))), enough])
    abort.abort()
  }
}
