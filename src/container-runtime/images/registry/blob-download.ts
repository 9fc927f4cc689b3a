/** A blob into a file. A connection that breaks is taken up where it broke; the digest decides in the end. */
import { createHash, type Hash } from 'node:crypto'
import fs from 'node:fs'
import type { Clock } from '../../../base/clock.ts'
import type { Descriptor } from '../documents.ts'
import { badImage, imageError } from '../image-error.ts'
import { parseDigest } from '../reference.ts'
import { isTransient, type RegistryClient, TryAgain } from './registry-client.ts'

export interface BlobDownload {
  readonly client: RegistryClient
  readonly blob: Descriptor
  /** Where it goes. */
  readonly file: string
  readonly clock: Clock
  readonly signal: AbortSignal
  onBytes(received: number): void
}

const ATTEMPTS = 6
const FIRST_WAIT = 250

export async function downloadBlob(download: BlobDownload): Promise<void> {
  const { blob, file } = download
  const descriptor = fs.openSync(file, 'w', 0o600)
  try {
    const progress = new Received(descriptor, blob)
    for (let attempt = 1; progress.length < blob.size || attempt === 1; attempt++) {
      const before = progress.length
      try {
        await receive(download, progress)
        break
      } catch (error) {
        if (download.signal.aborted || !isTransient(error)) throw error
        // Whoever gets on is not counted: a slow line that breaks often still ends.
        if (progress.length > before) attempt = 1
        if (attempt >= ATTEMPTS) throw imageError('Unavailable', (error as Error).message, error)
        const wait = FIRST_WAIT * 2 ** (attempt - 1)
        await download.clock.sleep(error instanceof TryAgain ? Math.max(wait, error.wait) : wait, download.signal)
      }
    }
    progress.check()
  } finally {
    fs.closeSync(descriptor)
  }
}

async function receive({ client, blob, signal, onBytes }: BlobDownload, progress: Received): Promise<void> {
  const response = await client.blob(blob.digest, progress.length, signal)
  if (response.status !== 206 || !startsAt(response.headers['content-range'], progress.length)) progress.reset()
  for await (const bytes of response.body) {
    progress.add(bytes)
    onBytes(progress.length)
  }
}

const startsAt = (range: string | undefined, start: number) => /^bytes (\d+)-/.exec(range ?? '')?.[1] === String(start)

class Received {
  readonly #descriptor: number
  readonly #blob: Descriptor
  readonly #algorithm: string
  #hash: Hash
  length = 0

  constructor(descriptor: number, blob: Descriptor) {
    this.#descriptor = descriptor
    this.#blob = blob
    this.#algorithm = parseDigest(blob.digest)!.algorithm
    this.#hash = createHash(this.#algorithm)
  }

  reset(): void {
    this.length = 0
    this.#hash = createHash(this.#algorithm)
  }

  add(bytes: Buffer): void {
    if (this.length + bytes.length > this.#blob.size)
      throw badImage(`the blob ${this.#blob.digest} is larger than it says`)
    for (let at = 0; at < bytes.length; )
      at += fs.writeSync(this.#descriptor, bytes, at, bytes.length - at, this.length + at)
    this.#hash.update(bytes)
    this.length += bytes.length
  }

  check(): void {
    const digest = `${this.#algorithm}:${this.#hash.digest('hex')}`
    if (this.length !== this.#blob.size || digest !== this.#blob.digest)
      throw badImage(
        `failed commit on ref "layer-${this.#blob.digest}": unexpected commit digest ${digest}, expected ${this.#blob.digest}: failed precondition`,
      )
  }
}
