/** Where an answer is written: one of Node's, or a stream of HTTP/2. */
export interface Outgoing {
  readonly destroyed: boolean
  readonly writableEnded: boolean
  readonly writableLength: number
  /** `done` is called when the chunk is on its way. */
  write(chunk: Buffer, done?: (error?: Error | null) => void): unknown
  end(): unknown
  destroy(): unknown
  cork(): void
  uncork(): void
  once(event: 'close', listener: () => void): unknown
}

/** Aborts when the answer is over, or nobody waits for it any more. */
export function closeSignal(out: Outgoing): AbortSignal {
  const closed = new AbortController()
  if (out.destroyed) closed.abort()
  else out.once('close', () => closed.abort())
  return closed.signal
}
