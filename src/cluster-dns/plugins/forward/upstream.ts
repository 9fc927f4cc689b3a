import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { connect } from 'node:net'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { decodeReply } from '../../wire/decode.ts'
import { encodeQuery, OWN_UDP_SIZE } from '../../wire/encode.ts'
import type { Query, Question, Reply } from '../../wire/message.ts'

export interface UpstreamAddress {
  readonly host: string
  readonly port: number
}

export interface UpstreamOptions {
  readonly clock: Clock
  readonly random: Pick<Random, 'next'>
  readonly timeout: number
}

/** One other server. Every query has a socket and an id of its own, so that nobody can guess where to send a forgery. */
export class Upstream {
  readonly address: UpstreamAddress
  readonly #options: UpstreamOptions
  /** How many queries in a row went without an answer. */
  failures = 0

  constructor(address: UpstreamAddress, options: UpstreamOptions) {
    this.address = address
    this.#options = options
  }

  /** Asks by UDP, and again by TCP if the answer did not fit. */
  async ask(query: Query, transport: 'udp' | 'tcp'): Promise<Reply> {
    const id = Math.floor(this.#options.random.next() * 0x10000)
    const edns = { udpSize: OWN_UDP_SIZE, version: 0, dnssecOk: query.edns?.dnssecOk ?? false }
    const packet = encodeQuery({ id, question: query.question, checkingDisabled: query.checkingDisabled, edns })
    try {
      const byUdp = transport === 'udp' ? await this.#exchange(packet, id, query.question, askByUdp) : undefined
      const answer = byUdp && !byUdp.truncated ? byUdp : await this.#exchange(packet, id, query.question, askByTcp)
      this.failures = 0
      return answer.reply
    } catch (error) {
      this.failures++
      throw error
    }
  }

  #exchange(
    packet: Buffer,
    id: number,
    question: Question,
    ask: typeof askByUdp,
  ): Promise<ReturnType<typeof decodeReply>> {
    const { clock, timeout } = this.#options
    return new Promise((resolve, reject) => {
      const close = ask(this.address, packet, received, failed)
      const timer = clock.after(timeout, () => failed(new Error(`${this.address.host} does not answer`)))
      function failed(error: Error): void {
        timer.cancel()
        close()
        reject(error)
      }
      function received(bytes: Buffer): void {
        const decoded = decodeSafely(bytes)
        // Somebody else's answer, or a forged one: go on waiting.
        if (!decoded || decoded.id !== id || !isSame(decoded.question, question)) return
        timer.cancel()
        close()
        resolve(decoded)
      }
    })
  }
}

function decodeSafely(bytes: Buffer): ReturnType<typeof decodeReply> | undefined {
  try {
    return decodeReply(bytes)
  } catch {
    return undefined
  }
}

const isSame = (a: Question | undefined, b: Question) =>
  a === undefined || (a.name === b.name && a.type === b.type && a.class === b.class)

type Received = (bytes: Buffer) => void
type Failed = (error: Error) => void

function askByUdp({ host, port }: UpstreamAddress, packet: Buffer, received: Received, failed: Failed): () => void {
  const socket: UdpSocket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  let isClosed = false
  socket.on('error', failed)
  socket.on('message', received)
  socket.connect(port, host, (error?: Error) => {
    if (error) failed(error)
    else if (!isClosed) socket.send(packet)
  })
  return () => {
    if (isClosed) return
    isClosed = true
    socket.close()
  }
}

function askByTcp({ host, port }: UpstreamAddress, packet: Buffer, received: Received, failed: Failed): () => void {
  const socket = connect({ host, port })
  let pending = Buffer.alloc(0)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(packet.length)
  socket.on('error', failed)
  socket.on('end', () => failed(new Error(`${host} closed the connection`)))
  socket.on('connect', () => socket.write(Buffer.concat([length, packet])))
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    if (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      received(pending.subarray(2, 2 + pending.readUInt16BE(0)))
    }
  })
  return () => socket.destroy()
}
