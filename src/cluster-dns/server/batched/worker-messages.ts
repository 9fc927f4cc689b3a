/** What the main thread and the worker of a socket tell each other. */

/** Where things lie in the memory both share: 32-bit numbers first, then the counters of answers. */
export const SHARED = { version: 0, stop: 1, serial: 2, waiting: 3, numbers: 4, hitsAt: 16, hitSlots: 64 } as const

export interface LoopData {
  /** Where koffi lies: a worker without a file cannot find it by name. */
  readonly koffi: string
  readonly fd: number
  readonly seed: number
  readonly batch: number
  readonly bufferSize: number
  readonly addressSize: number
  /** Queries that the main thread has not answered yet; beyond so many, others are dropped. */
  readonly maxWaiting: number
  readonly shared: SharedArrayBuffer
  readonly layout: typeof SHARED
}

/** To the worker. */
export type TableChange =
  | { readonly keep: Uint8Array; readonly packets: readonly Uint8Array[]; readonly slot: number }
  | { readonly drop: Uint8Array }
  | { readonly dropAll: true }

/** To the main thread: what the table could not answer. */
export interface SlowQuery {
  readonly packet: Uint8Array
  /** The socket address of the client, as the kernel writes it. */
  readonly address: Uint8Array
}

/** For queries and answers; longer answers go the slow way, by the main thread. */
export const BUFFER_SIZE = 2048
