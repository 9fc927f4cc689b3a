/** A server of the world, for tests: answers by UDP and TCP as it is told, or not at all. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { emptyReply } from '../plugin.ts'
import { decodeQuery } from '../wire/decode.ts'
import { encodeReply } from '../wire/encode.ts'
import type { Query, Reply } from '../wire/message.ts'

export interface TestUpstream extends AsyncDisposable {
  readonly port: number
  /** `udp A a.org`, in the order they came. */
  readonly asked: string[]
  answer: ((query: Query, transport: 'udp' | 'tcp') => Reply) | undefined
}

export async function startUpstream(maxUdpSize = 512): Promise<TestUpstream> {
  const asked: string[] = []
  const upstream = { asked, answer: undefined as TestUpstream['answer'] }
  const handle = (packet: Buffer, transport: 'udp' | 'tcp') => {
    const query = decodeQuery(packet)
    asked.push(`${transport} ${query.question.type} ${query.question.name}`)
    const reply = upstream.answer?.(query, transport)
    return reply && encodeReply(query, reply, { maxSize: transport === 'udp' ? maxUdpSize : 65_535 })
  }
  const sockets = new Set<Socket>()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      const answer = handle(bytes.subarray(2), 'tcp')
      if (answer) socket.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 255]), answer]))
    })
  }).listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4').bind(port, '127.0.0.1')
  await once(udp, 'listening')
  udp.on('message', (packet, from) => {
    const answer = handle(packet, 'udp')
    if (answer) udp.send(answer, from.port, from.address)
  })
  return Object.assign(upstream, {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      udp.close()
      tcp.close()
      await once(tcp, 'close')
    },
  })
}

/** So many addresses for the name that is asked. */
export const addresses =
  (count: number, ttl = 60) =>
  ({ question: { name } }: Query): Reply => ({
    ...emptyReply(0),
    answers: Array.from({ length: count }, (_, i) => ({ name, ttl, data: { type: 'A', address: `192.0.2.${i + 1}` } })),
  })
