import type { Logger } from '../../base/log.ts'
import type { Change, ChangeBatch, Condition, Entry, Page, Revision, Store, Write } from '../../store/store.ts'
import type { ResourceEncryption } from './configuration.ts'
import { DecryptionError, ENCRYPTED_PREFIX, type EncryptionProvider } from './provider.ts'

const ROOT = '/registry/'
/** Stands in front of what is encrypted: where the revision belongs, as the store cannot write it in there. */
const SLOT_BYTES = 4
const NO_SLOT = 0xffffffff

/**
 * A store in which the values of chosen resources are encrypted. Everybody above reads and writes plain values; below,
 * on disk and in etcd, there is nothing to read. Written with the first provider of a resource, read with any of them.
 */
export function encryptedStore(inner: Store, encryption: ResourceEncryption, log: Logger): Store {
  return new EncryptedStore(inner, encryption, log)
}

class EncryptedStore implements Store {
  readonly #inner: Store
  readonly #encryption: ResourceEncryption
  readonly #log: Logger
  /** A value is opened once as long as the store below holds it. */
  readonly #opened = new WeakMap<Entry, Entry>()

  constructor(inner: Store, encryption: ResourceEncryption, log: Logger) {
    this.#inner = inner
    this.#encryption = encryption
    this.#log = log
  }

  revision(): Promise<Revision> {
    return this.#inner.revision()
  }

  async get(key: string, at?: Revision): Promise<Entry | undefined> {
    const entry = await this.#inner.get(key, at)
    return entry && this.#open(entry)
  }

  async list(prefix: string, page?: { after?: string; limit?: number; at?: Revision }): Promise<Page> {
    const found = await this.#inner.list(prefix, page)
    const entries: Entry[] = []
    for (const entry of found.entries) {
      const opened = this.#open(entry)
      entries.push(opened instanceof Promise ? await opened : opened)
    }
    return { ...found, entries }
  }

  async commit(conditions: readonly Condition[], writes: readonly Write[]): Promise<Revision> {
    const sealed: Write[] = []
    for (const write of writes) {
      const one = this.#seal(write)
      sealed.push(one instanceof Promise ? await one : one)
    }
    const revision = await this.#inner.commit(conditions, sealed)
    // Who watches through this store is handed the change a few turns after who watches the store below.
    for (let turn = 0; turn < 4; turn++) await undefined
    return revision
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    const source = this.#inner.watch(prefix, after, signal)
    return {
      [Symbol.asyncIterator]: () => {
        const batches = source[Symbol.asyncIterator]()
        return {
          next: () => batches.next().then((step) => (step.done ? step : this.#openStep(step.value))),
          return: (value) => batches.return?.(value) ?? Promise.resolve({ done: true, value: undefined }),
        }
      },
    }
  }

  requestProgress(): void {
    this.#inner.requestProgress()
  }

  compact(upTo: Revision): Promise<void> {
    return this.#inner.compact(upTo)
  }

  /** The store below belongs to whoever opened it. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #openStep(batch: ChangeBatch): IteratorResult<ChangeBatch> | Promise<IteratorResult<ChangeBatch>> {
    const { changes } = batch
    if (!changes.some(({ key }) => this.#providers(key) !== undefined)) return { done: false, value: batch }
    const opened = changes.map((change) => this.#openChange(change))
    if (!opened.some((one) => one instanceof Promise))
      return { done: false, value: { ...batch, changes: opened as Change[] } }
    return Promise.all(opened).then((all) => ({ done: false, value: { ...batch, changes: all } }))
  }

  #openChange(change: Change): Change | Promise<Change> {
    if (!this.#providers(change.key)) return change
    const entry = change.entry && this.#openIfPossible(change.entry)
    const previous = change.previous && this.#openIfPossible(change.previous)
    if (entry instanceof Promise || previous instanceof Promise)
      return Promise.all([entry, previous]).then(([now, before]) => ({ ...change, entry: now, previous: before }))
    return { ...change, entry, previous }
  }

  /** One value that cannot be read must not end the watch that feeds everything else. */
  #openIfPossible(entry: Entry): Entry | undefined | Promise<Entry | undefined> {
    const fail = (error: unknown) => {
      this.#log.error('a changed object cannot be decrypted and is left out', { error: (error as Error).message })
      return undefined
    }
    try {
      const opened = this.#open(entry)
      return opened instanceof Promise ? opened.catch(fail) : opened
    } catch (error) {
      return fail(error)
    }
  }

  #providers(key: string): readonly EncryptionProvider[] | undefined {
    return this.#encryption.providersOf(resourceOf(key))
  }

  #seal(write: Write): Write | Promise<Write> {
    const first = write.value && this.#providers(write.key)?.[0]
    if (!first || first.prefix === '') return write
    const { key, value, revisionSlot = NO_SLOT } = write as Required<Write>
    const plain = Buffer.allocUnsafe(SLOT_BYTES + value.length)
    plain.writeUInt32BE(revisionSlot)
    value.copy(plain, SLOT_BYTES)
    const sealed = first.encrypt(plain, key)
    const finish = (bytes: Buffer): Write => ({ key, value: Buffer.concat([Buffer.from(first.prefix), bytes]) })
    return sealed instanceof Promise ? sealed.then(finish) : finish(sealed)
  }

  #open(entry: Entry): Entry | Promise<Entry> {
    const known = this.#opened.get(entry)
    if (known) return known
    const providers = this.#providers(entry.key)
    if (!providers) return entry
    const provider = providerFor(entry, providers)
    if (provider.prefix === '') return entry
    const finish = (plain: Buffer) => {
      const opened = { ...entry, value: stampedValue(plain, entry.revision) }
      this.#opened.set(entry, opened)
      return opened
    }
    const fail = (error: unknown): never => {
      const why = error instanceof Error ? error.message : String(error)
      throw new DecryptionError(`unable to transform key ${JSON.stringify(entry.key)}: ${why}`)
    }
    try {
      const plain = provider.decrypt(entry.value.subarray(provider.prefix.length), entry.key)
      return plain instanceof Promise ? plain.then(finish).catch(fail) : finish(plain)
    } catch (error) {
      return fail(error)
    }
  }
}

/** `/registry/secrets/a/b` -> `secrets`, `/registry/deployments.apps/a/b` -> `deployments.apps` */
function resourceOf(key: string): string {
  return key.slice(ROOT.length, key.indexOf('/', ROOT.length))
}

function providerFor({ key, value }: Entry, providers: readonly EncryptionProvider[]): EncryptionProvider {
  const isEncrypted = value.toString('latin1', 0, ENCRYPTED_PREFIX.length) === ENCRYPTED_PREFIX
  for (const provider of providers) {
    const { prefix } = provider
    if (prefix === '' ? !isEncrypted : value.toString('latin1', 0, prefix.length) === prefix) return provider
  }
  const written = isEncrypted ? value.toString('latin1', 0, 120).split(':').slice(2, 5).join(':') : 'plain text'
  throw new DecryptionError(
    `unable to transform key ${JSON.stringify(key)}: no matching prefix found: it was written as ${written}, which the encryption configuration does not list`,
  )
}

function stampedValue(plain: Buffer, revision: Revision): Buffer {
  const slot = plain.readUInt32BE(0)
  const value = plain.subarray(SLOT_BYTES)
  if (slot === NO_SLOT) return value
  return Buffer.concat([value.subarray(0, slot), Buffer.from(String(revision)), value.subarray(slot)])
}
