import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { Handler } from './handle.ts'
import type { Listening } from './listen.ts'

/** RFC 7766: a connection may ask many questions, also before the first is answered; an idle one is closed. */
const IDLE_MILLISECONDS = 10_000
const MAX_CONNECTIONS = 1000
const MAX_IN_FLIGHT = 64

export async function listenTcp(
  address: { readonly host: string; readonly port: number },
  handle: Handler,
  clock: Clock,
): Promise<Listening> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    closeWhenIdle(socket, clock)
    serve(socket, handle)
  })
  server.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address.host, port: address.port, ipv6Only: address.host.includes(':') }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** One timer per connection, set anew only when it runs out: bytes that come in cost no timer. */
function closeWhenIdle(socket: Socket, clock: Clock): void {
  let lastActive = clock.now()
  const look = () => {
    const rest = lastActive + IDLE_MILLISECONDS - clock.now()
    if (rest <= 0) socket.destroy()
    else timer = clock.after(rest, look).unref()
  }
  let timer = clock.after(IDLE_MILLISECONDS, look).unref()
  socket.on('data', () => {
    lastActive = clock.now()
  })
  socket.on('close', () => timer.cancel())
}

/** Each message has its length in front, two bytes. */
function serve(socket: Socket, handle: Handler): void {
  const client = socket.remoteAddress ?? ''
  let pending: Buffer = Buffer.alloc(0)
  let inFlight = 0
  const send = (answer: Buffer | undefined) => {
    if (!answer || socket.destroyed) return
    const length = Buffer.alloc(2)
    length.writeUInt16BE(answer.length)
    socket.write(Buffer.concat([length, answer]))
  }
  const drain = () => {
    while (inFlight < MAX_IN_FLIGHT && pending.length >= 2) {
      const length = pending.readUInt16BE(0)
      if (pending.length < 2 + length) break
      const packet = pending.subarray(2, 2 + length)
      pending = pending.subarray(2 + length)
      const answer = handle(packet, { client, transport: 'tcp' })
      if (!(answer instanceof Promise)) {
        send(answer)
        continue
      }
      inFlight++
      void answer.then((late) => {
        inFlight--
        send(late)
        drain()
      })
    }
    if (inFlight >= MAX_IN_FLIGHT) socket.pause()
    else socket.resume()
  }
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    drain()
  })
}
