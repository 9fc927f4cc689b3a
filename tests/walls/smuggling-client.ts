/** Clients that send any bytes, also those that no HTTP library lets through. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import * as h2 from '../../src/http2/frames.ts'

export interface RawTarget {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly cert?: string
  readonly key?: string
}

/** How long a server that says nothing is listened to. */
const SILENCE_MS = 5000

async function open(target: RawTarget, protocol: string): Promise<TLSSocket> {
  const socket = connect({
    ...target,
    servername: 'localhost',
    ALPNProtocols: [protocol],
    checkServerIdentity: () => undefined,
  })
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

export interface RawAnswer {
  /** The status codes that came back, in order; empty if the server closed the connection without an answer. */
  readonly statuses: readonly number[]
  readonly text: string
}

/** Sends bytes as HTTP/1.1, and reads all that comes back. The client ends its side after the first answer. */
export async function sendHttp1(target: RawTarget, ...parts: readonly (string | Buffer)[]): Promise<RawAnswer> {
  const socket = await open(target, 'http/1.1')
  const chunks: Buffer[] = []
  const silence = setTimeout(() => socket.destroy(), SILENCE_MS)
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    // An answer to what was smuggled comes right behind: leave it some time.
    setTimeout(() => socket.end(), 100)
  })
  for (const part of parts) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
  await once(socket, 'close')
  clearTimeout(silence)
  const text = Buffer.concat(chunks).toString('latin1')
  return { statuses: [...text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, code]) => Number(code)), text }
}

export type Fields = readonly (readonly [name: string, value: string])[]

/** A header block of literals without any index: every name and value as it is given. */
export function headerBlock(fields: Fields): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, 'latin1')
    return Buffer.concat([lengthOf(bytes.length), bytes])
  }
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** An integer with a prefix of seven bits (RFC 7541, 5.1). */
function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

/** What became of a stream: `200`, `reset 1`, `goaway 1`, `closed`. */
export type StreamOutcome = string

/** Sends one request as HTTP/2 frames. Each body part is a DATA frame; the last one ends the stream. */
export async function sendHttp2(
  target: RawTarget,
  fields: Fields,
  body: readonly (string | Buffer)[] = [],
  options: { readonly trailers?: Fields; readonly leaveOpen?: boolean } = {},
): Promise<StreamOutcome> {
  const socket = await open(target, 'h2')
  const outcome = outcomeOf(socket)
  const hasMore = body.length > 0 || options.trailers !== undefined
  socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
  socket.write(h2.settingsFrame([]))
  socket.write(h2.headerFrames(headerBlock(fields), 1, hasMore || options.leaveOpen ? 0 : h2.END_STREAM, 16_384))
  for (const [i, part] of body.entries()) {
    const isLast = i === body.length - 1 && !options.trailers && !options.leaveOpen
    socket.write(h2.frame(h2.DATA, isLast ? h2.END_STREAM : 0, 1, Buffer.from(part)))
  }
  if (options.trailers)
    socket.write(h2.frame(h2.HEADERS, h2.END_STREAM | h2.END_HEADERS, 1, headerBlock(options.trailers)))
  const result = await outcome
  socket.destroy()
  return result
}

function outcomeOf(socket: TLSSocket): Promise<StreamOutcome> {
  return new Promise((resolve) => {
    let status = ''
    const silence = setTimeout(() => resolve('silence'), SILENCE_MS)
    const finish = (outcome: string) => {
      clearTimeout(silence)
      resolve(outcome)
    }
    const reader = new h2.FrameReader((type, flags, id, payload) => {
      if (type === h2.GOAWAY) finish(`goaway ${payload.readUInt32BE(4)}`)
      if (id !== 1) return
      if (type === h2.RST_STREAM) finish(`reset ${payload.readUInt32BE(0)}`)
      if (type === h2.HEADERS && status === '') status = statusOf(payload)
      if (type === h2.HEADERS && status === '100') status = ''
      if ((type === h2.HEADERS || type === h2.DATA) && flags & h2.END_STREAM) finish(status)
    })
    socket.on('data', (chunk: Buffer) => reader.read(chunk))
    socket.on('close', () => finish(status === '' ? 'closed' : `${status} cut`))
  })
}

const INDEXED_STATUS: Readonly<Record<number, string>> = {
  136: '200',
  137: '204',
  138: '206',
  139: '304',
  140: '400',
  141: '404',
  142: '500',
}

/** The server writes `:status` first: indexed, or as three digits. */
function statusOf(block: Buffer): string {
  return INDEXED_STATUS[block[0]!] ?? /\d{3}/.exec(block.toString('latin1', 0, 24))?.[0] ?? '?'
}

export const http2Fields = (method: string, path: string, more: Fields = []): Fields => [
  [':method', method],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', path],
  ...more,
]
