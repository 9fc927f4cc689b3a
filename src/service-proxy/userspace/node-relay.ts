/**
 * Listeners and their connections, on Node's own sockets. The text of this class is run in a worker, so it is whole in
 * itself: types are all that it imports.
 */
import type * as Dgram from 'node:dgram'
import type * as Net from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { EndpointTurns } from './endpoint-turns.ts'
import type { RelayAnswer, RelayListener, RelayMessage, RelayTargets } from './relay.ts'

export interface RelayModules {
  readonly net: Pick<typeof Net, 'createServer' | 'connect'>
  readonly dgram: Pick<typeof Dgram, 'createSocket'>
  readonly answer: (answer: RelayAnswer) => void
  readonly after: Clock['after']
  readonly createTurns: (targets: RelayTargets) => EndpointTurns
  /** Milliseconds that only grow. */
  readonly now: () => number
}

interface UdpFlow {
  readonly socket: Dgram.Socket
  readonly target: string
  lastUsed: number
}

interface Listening {
  readonly turns: EndpointTurns
  readonly flows: Map<string, UdpFlow>
  close(): void
}

export class NodeRelay {
  static readonly DIAL_TIMEOUTS_MS = [250, 500, 1000, 2000]
  static readonly UDP_IDLE_MS = 2000
  static readonly MOST_UDP_FLOWS = 4096
  static readonly BACKLOG = 4096

  readonly #modules: RelayModules
  readonly #listeners = new Map<string, Listening>()

  constructor(modules: RelayModules) {
    this.#modules = modules
  }

  handle(message: RelayMessage): void {
    switch (message.op) {
      case 'open':
        if (message.listener.protocol === 'TCP') this.#openTcp(message.listener)
        else this.#openUdp(message.listener)
        break
      case 'change':
        this.#change(message.id, message.targets)
        break
      case 'close':
        this.#close(message.id)
        break
      case 'sweep':
        this.#sweep()
        break
      case 'stop':
        for (const id of [...this.#listeners.keys()]) this.#close(id)
    }
  }

  #listening({ endpoints, affinityMs }: RelayTargets, close: () => void): Listening {
    return { turns: this.#modules.createTurns({ endpoints, affinityMs }), flows: new Map(), close }
  }

  #openTcp(listener: RelayListener): void {
    // Bytes of a client wait in the kernel until there is an endpoint for them.
    const server = this.#modules.net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true })
    const listening = this.#listening(listener, () => server.close())
    server.on('connection', (client) => this.#serve(listening, client))
    server.on('error', (error) => this.#modules.answer({ id: listener.id, failure: error.message }))
    server.listen({ host: listener.ip, port: 0, backlog: NodeRelay.BACKLOG }, () => {
      this.#listeners.set(listener.id, listening)
      this.#modules.answer({ id: listener.id, port: (server.address() as Net.AddressInfo).port })
    })
  }

  #serve(listening: Listening, client: Net.Socket): void {
    client.on('error', () => client.destroy())
    this.#dial(listening, client, client.remoteAddress ?? '', 0)
  }

  /** One endpoint after the other until one answers. */
  #dial(listening: Listening, client: Net.Socket, address: string, attempt: number): void {
    const timeouts = NodeRelay.DIAL_TIMEOUTS_MS
    const target = listening.turns.choose(address, attempt > 0)
    if (!target || client.destroyed || attempt >= Math.max(timeouts.length, listening.turns.count)) {
      client.resetAndDestroy()
      return
    }
    const timeout = timeouts[Math.min(attempt, timeouts.length - 1)]!
    const upstream = this.#modules.net.connect({
      ...{ host: target.ip, port: target.port },
      ...{ allowHalfOpen: true, noDelay: true },
    })
    let isDecided = false
    const next = () => {
      if (isDecided) return
      isDecided = true
      timer.cancel()
      client.off('close', next)
      upstream.destroy()
      this.#dial(listening, client, address, attempt + 1)
    }
    const timer = this.#modules.after(timeout, next)
    upstream.once('error', next)
    client.once('close', next)
    upstream.once('connect', () => {
      if (isDecided) return
      isDecided = true
      client.off('close', next)
      timer.cancel()
      this.#join(client, upstream)
    })
  }

  /** Pipes keep the end of each direction and wait for the slower side; a reset goes on as a reset. */
  #join(client: Net.Socket, upstream: Net.Socket): void {
    const couple = (one: Net.Socket, other: Net.Socket) => {
      one.on('error', () => other.resetAndDestroy())
      one.on('close', () => {
        if (!one.readableEnded || !other.writableEnded) other.destroy()
      })
      one.pipe(other)
    }
    couple(client, upstream)
    couple(upstream, client)
  }

  #openUdp(listener: RelayListener): void {
    const socket = this.#modules.dgram.createSocket(listener.family === 'IPv4' ? 'udp4' : 'udp6')
    const listening = this.#listening(listener, () => socket.close())
    socket.on('message', (packet, from) => this.#forward(listener, listening, socket, packet, from))
    socket.on('error', (error) => this.#modules.answer({ id: listener.id, failure: error.message }))
    socket.bind({ address: listener.ip, port: 0 }, () => {
      this.#listeners.set(listener.id, listening)
      this.#modules.answer({ id: listener.id, port: socket.address().port })
    })
  }

  #forward(
    { family }: RelayListener,
    listening: Listening,
    socket: Dgram.Socket,
    packet: Buffer,
    from: Dgram.RemoteInfo,
  ): void {
    const client = `${from.address} ${from.port}`
    const known = listening.flows.get(client)
    if (known) {
      known.lastUsed = this.#modules.now()
      // The longest unused is the first of the map.
      listening.flows.delete(client)
      listening.flows.set(client, known)
      known.socket.send(packet)
      return
    }
    const target = listening.turns.choose(from.address, false)
    if (!target) return
    const upstream = this.#modules.dgram.createSocket(family === 'IPv4' ? 'udp4' : 'udp6')
    const flow: UdpFlow = { socket: upstream, target: `${target.ip} ${target.port}`, lastUsed: this.#modules.now() }
    listening.flows.set(client, flow)
    upstream.on('message', (answer) => {
      flow.lastUsed = this.#modules.now()
      socket.send(answer, from.port, from.address, () => {})
    })
    // Nobody listens there: the next packet goes to another one.
    upstream.on('error', () => this.#endFlow(listening, client, flow))
    upstream.connect(target.port, target.ip, () => upstream.send(packet))
    const [oldest] = listening.flows
    if (listening.flows.size > NodeRelay.MOST_UDP_FLOWS) this.#endFlow(listening, oldest![0], oldest![1])
  }

  #endFlow(listening: Listening, client: string, flow: UdpFlow): void {
    if (listening.flows.get(client) !== flow) return
    listening.flows.delete(client)
    flow.socket.close()
  }

  #change(id: string, targets: RelayTargets): void {
    const listening = this.#listeners.get(id)
    if (!listening) return
    listening.turns.change(targets)
    for (const [client, flow] of listening.flows) {
      if (!listening.turns.has(flow.target)) this.#endFlow(listening, client, flow)
    }
  }

  #close(id: string): void {
    const listening = this.#listeners.get(id)
    if (!listening) return
    this.#listeners.delete(id)
    for (const [client, flow] of listening.flows) this.#endFlow(listening, client, flow)
    listening.close()
  }

  #sweep(): void {
    const now = this.#modules.now()
    for (const listening of this.#listeners.values()) {
      for (const [client, flow] of listening.flows) {
        if (now - flow.lastUsed > NodeRelay.UDP_IDLE_MS) this.#endFlow(listening, client, flow)
      }
      listening.turns.sweep()
    }
  }
}
