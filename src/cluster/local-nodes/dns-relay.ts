/** Nodes with a network of their own ask it what only a server on the machine's loopback knows, as in Docker's containers. */
import { createSocket } from 'node:dgram'
import { connect, createServer, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

export interface DnsPlace {
  readonly host: string
  readonly port: number
}

export interface DnsRelayOptions {
  readonly listen: DnsPlace
  readonly server: DnsPlace
  readonly clock: Clock
}

/** The servers of the world take their time; who asks has asked again by then. */
const PATIENCE_MS = 5000
/** As long as resolvers keep a connection for more questions, and then some. */
const CONNECTION_MS = 30_000
const MOST_AT_ONCE = 1000

/** Rejects where something listens already. */
export async function startDnsRelay(options: DnsRelayOptions): Promise<AsyncDisposable> {
  const tcp = await relayTcp(options)
  try {
    const udp = await relayUdp(options)
    return {
      async [Symbol.asyncDispose]() {
        await Promise.all([udp[Symbol.asyncDispose](), tcp[Symbol.asyncDispose]()])
      },
    }
  } catch (error) {
    await tcp[Symbol.asyncDispose]()
    throw error
  }
}

const socketType = ({ host }: DnsPlace) => (host.includes(':') ? 'udp6' : 'udp4')

/** A socket for each question, so that answers find who asked and nobody else can answer. */
async function relayUdp({ listen, server, clock }: DnsRelayOptions): Promise<AsyncDisposable> {
  const clients = createSocket(socketType(listen))
  const underWay = new Set<() => void>()
  clients.on('message', (question, { address, port }) => {
    if (underWay.size >= MOST_AT_ONCE) return
    const upstream = createSocket(socketType(server))
    const end = () => {
      if (!underWay.delete(end)) return
      timer.cancel()
      upstream.close()
    }
    const timer = clock.after(PATIENCE_MS, end).unref()
    underWay.add(end)
    upstream.on('error', end)
    upstream.on('message', (answer) => {
      clients.send(answer, port, address, () => {})
      end()
    })
    upstream.connect(server.port, server.host, () => {
      if (underWay.has(end)) upstream.send(question)
    })
  })
  await new Promise<void>((resolve, reject) => {
    clients.once('error', reject)
    clients.bind(listen.port, listen.host, resolve)
  })
  // A client that is gone by now is no reason to stop.
  clients.on('error', () => {})
  return {
    [Symbol.asyncDispose]() {
      for (const end of underWay) end()
      return new Promise((resolve) => clients.close(resolve))
    },
  }
}

async function relayTcp({ listen, server, clock }: DnsRelayOptions): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>()
  const relay = createServer((client) => {
    if (sockets.size >= 2 * MOST_AT_ONCE) return client.destroy()
    const upstream = connect(server)
    const timer = clock.after(CONNECTION_MS, () => client.destroy()).unref()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        timer.cancel()
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve, reject) => {
    relay.once('error', reject)
    relay.listen(listen.port, listen.host, resolve)
  })
  return {
    [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => relay.close(() => resolve()))
    },
  }
}
