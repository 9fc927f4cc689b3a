/** Layers come as gzip, zstd or plain; what they are is told by their first bytes, as media types are not reliable. */
import type { Transform } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'
import { badImage } from '../image-error.ts'
import { ZstdFrames } from './zstd-frames.ts'

const GZIP = Buffer.from([0x1f, 0x8b])
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
const CHUNK = 128 * 1024

export async function* decompressed(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = compressed[Symbol.asyncIterator]()
  try {
    const first = await firstBytes(source)
    const whole = joined(first, source)
    if (startsWith(first, GZIP)) yield* through(whole, zlib.createGunzip({ chunkSize: CHUNK }))
    else if (startsWith(first, ZSTD)) yield* zstd(whole)
    else yield* whole
  } finally {
    await source.return?.()
  }
}

const startsWith = (bytes: Buffer, magic: Buffer) => bytes.subarray(0, magic.length).equals(magic)

async function firstBytes(source: AsyncIterator<Buffer>): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  while (bytes.length < ZSTD.length) {
    const { done, value } = await source.next()
    if (done) break
    bytes = Buffer.concat([bytes, value])
  }
  return bytes
}

async function* joined(first: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let step = await source.next(); !step.done; step = await source.next()) yield step.value
}

async function* through(source: AsyncIterable<Buffer>, stream: Transform): AsyncGenerator<Buffer> {
  let failure: unknown
  const feeding = feed(source, stream).catch((error) => {
    failure = error
    stream.destroy(error as Error)
  })
  try {
    for await (const bytes of stream) yield bytes as Buffer
  } catch (error) {
    throw failure === undefined ? badImage(`the layer is damaged: ${(error as Error).message}`) : failure
  } finally {
    stream.destroy()
    await feeding
  }
}

async function feed(source: AsyncIterable<Buffer>, stream: Transform): Promise<void> {
  for await (const bytes of source) {
    if (stream.destroyed) return
    if (!stream.write(bytes)) await drained(stream)
  }
  stream.end()
}

const drained = (stream: Transform) =>
  new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })

type MakeStream = () => Transform

/** Newer versions of Node have it built in, three times faster. */
function zstd(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const native = (zlib as { createZstdDecompress?: MakeStream }).createZstdDecompress
  return native ? through(source, native()) : zstdInScript(source)
}

/** As much as zlib's own decoder takes. */
const LARGEST_WINDOW = 128 * 1024 ** 2
/** The decoder moves its whole window for each block, and four bytes can be a block: so many bytes between two turns. */
const MOVED_PER_TURN = 256 * 1024 ** 2
const [SMALLEST_BITE, LARGEST_BITE] = [16, 1024]

async function* zstdInScript(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let ready: Buffer[] = []
  let moved = 0
  const frames = new ZstdFrames(LARGEST_WINDOW)
  const decoder = new Decompress((bytes) => ready.push(Buffer.from(bytes)))
  for await (const bytes of source)
    for (const { bite, window } of bitesOf(bytes, frames)) {
      damaged(() => decoder.push(bite))
      moved += ready.length * window
      if (moved > MOVED_PER_TURN) await nextTurn()
      moved %= MOVED_PER_TURN
      yield* ready
      ready = []
    }
}

/** The larger the window, the smaller the bites. */
function* bitesOf(bytes: Buffer, frames: ZstdFrames): Generator<{ bite: Buffer; window: number }> {
  for (let at = 0; at < bytes.length; at += LARGEST_BITE) {
    const part = bytes.subarray(at, at + LARGEST_BITE)
    const window = damaged(() => frames.check(part))
    const size = Math.max(SMALLEST_BITE, Math.min(LARGEST_BITE, Math.floor((4 * MOVED_PER_TURN) / window)))
    for (let from = 0; from < part.length; from += size) yield { bite: part.subarray(from, from + size), window }
  }
}

function damaged<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw badImage(`the layer is damaged: ${(error as Error).message}`)
  }
}
