import { expect } from 'vitest'
import type { ChangeBatch, Revision, Store } from '../store.ts'

export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens it again with what it holds. */
  readonly reopen?: () => Promise<Store>
  /** Removes what the store left behind, after it was closed. */
  readonly cleanUp?: () => Promise<void>
}

export type OpenStore = () => Promise<OpenedStore>

/** The stores of one test, and an abort signal for its watches, all gone when it ends. */
export interface TestStores {
  readonly signal: AbortSignal
  open(): Promise<Store>
  /** The last opened store after a restart, or itself where there is none. */
  reopen(): Promise<Store>
  firstBatch(watch: AsyncIterable<ChangeBatch>): Promise<ChangeBatch>
  /** Batches up to the one that reaches the revision. */
  batchesUpTo(watch: AsyncIterable<ChangeBatch>, revision: Revision): Promise<ChangeBatch[]>
  dispose(): Promise<void>
}

export function testStores(open: OpenStore): TestStores {
  let opened: OpenedStore[] = []
  let current: Store | undefined
  let abort = new AbortController()
  return {
    get signal() {
      return abort.signal
    },
    async open() {
      const one = await open()
      opened.push(one)
      current = one.store
      return one.store
    },
    async reopen() {
      current = (await opened.at(-1)?.reopen?.()) ?? current
      return current!
    },
    async firstBatch(watch) {
      for await (const batch of watch) return batch
      throw new Error('the watch ended without a batch')
    },
    async batchesUpTo(watch, revision) {
      const batches: ChangeBatch[] = []
      for await (const batch of watch) {
        expect(batch.revision).toBeGreaterThanOrEqual(batches.at(-1)?.revision ?? 0)
        batches.push(batch)
        if (batch.revision >= revision) break
      }
      return batches
    },
    async dispose() {
      abort.abort()
      abort = new AbortController()
      await current?.[Symbol.asyncDispose]()
      for (const { store, cleanUp } of opened) {
        if (store !== current) await store[Symbol.asyncDispose]()
        await cleanUp?.()
      }
      opened = []
      current = undefined
    },
  }
}

export const put = (key: string, value: string = key): { key: string; value: Buffer } => ({
  key,
  value: Buffer.from(value),
})

/** A value with its revision in it, as the API server writes objects. */
export function stamped(key: string, before: string, after: string) {
  return { key, value: Buffer.from(before + after), revisionSlot: Buffer.byteLength(before) }
}
