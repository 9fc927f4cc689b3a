import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { AnswerTable } from './batched/answer-table.ts'
import type { BatchedOptions } from './batched/listen-batched.ts'
import { BUFFER_SIZE, SHARED, type TableChange } from './batched/worker-messages.ts'
import type { Handler } from './handle.ts'
import type { ListenAddress, Listening } from './listen.ts'

/** Serves by UDP with Node's own sockets, from the same table of answers as a worker would. */
export async function listenUdp(address: ListenAddress, handle: Handler, options: BatchedOptions): Promise<Listening> {
  const family = address.host.includes(':') ? 6 : 4
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    ...(family === 6 && { ipv6Only: true }),
    recvBufferSize: 1 << 20,
    // Answers go to addresses, never to names: looking them up would cost a quarter of the time.
    lookup: (host, _, callback) => callback(null, host, family),
  })
  const hits = new Float64Array(SHARED.hitSlots)
  const { ready, tell } = readyAnswers(options, hits)
  socket.on('message', (packet, from) => {
    const answer = ready(packet) ?? handle(packet, { client: from.address, transport: 'udp' })
    if (answer instanceof Promise)
      void answer.then((late) => late && socket.send(late, from.port, from.address, ignore))
    else if (answer) socket.send(answer, from.port, from.address, ignore)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(address.port, address.host, () => {
      socket.off('error', reject)
      // A client that is gone by now (ICMP port unreachable) is no reason to stop.
      socket.on('error', ignore)
      resolve()
    })
  })
  options.kept.add(tell)
  return {
    port: (socket.address() as AddressInfo).port,
    ready: { hits, serialChanged: ignore },
    [Symbol.asyncDispose]() {
      options.kept.remove(tell)
      return new Promise((resolve) => socket.close(() => resolve()))
    },
  }
}

const ignore = () => {}

function readyAnswers({ seed, serial }: BatchedOptions, hits: Float64Array) {
  const table = new AnswerTable({ seed, size: BUFFER_SIZE, hits })
  const memory = new ArrayBuffer(BUFFER_SIZE)
  const scratch = { bytes: Buffer.from(memory), words: new Uint32Array(memory) }
  const tell = (change: TableChange) => {
    if ('keep' in change) table.set(change.keep, change.packets, change.slot)
    else if ('drop' in change) table.delete(change.drop)
    else table.clear()
  }
  const ready = (packet: Buffer): Buffer | undefined => {
    if (packet.length > BUFFER_SIZE) return undefined
    packet.copy(scratch.bytes)
    const length = table.answer(scratch, 0, packet.length, serial())
    // A copy: the packet is sent later than now.
    return length === 0 ? undefined : Buffer.from(scratch.bytes.subarray(0, length))
  }
  return { ready, tell }
}
