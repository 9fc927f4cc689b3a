/** Layers come as gzip, zstd or plain; what they are is told by their first bytes, as media types are not reliable. */
import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'
import { badImage } from '../image-error.ts'

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

/** Four bytes can stand for 128 KiB: small bites keep what comes of each in bounds. */
const BITE = 1024

async function* zstdInScript(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let ready: Buffer[] = []
  const decoder = new Decompress((bytes) => ready.push(Buffer.from(bytes)))
  for await (const bytes of source)
    for (let at = 0; at < bytes.length; at += BITE) {
      try {
        decoder.push(bytes.subarray(at, at + BITE))
      } catch (error) {
        throw badImage(`the layer is damaged: ${(error as Error).message}`)
      }
      yield* ready
      ready = []
    }
}
