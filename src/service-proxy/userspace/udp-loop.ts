/**
 * UDP by epoll: a connected socket for each client, so that the kernel tells answers apart and refusals are heard. The text
 * of this class is run in a worker, so it is whole in itself: types are all that it imports.
 */
import type { EndpointTurns } from './endpoint-turns.ts'
import type { RelayListener, RelayTarget } from './relay.ts'
import type { SpliceLoopOptions } from './splice-loop.ts'

interface Flow {
  readonly fd: number
  readonly client: string
  readonly listening: Listening
  readonly target: string
  /** The client's address as the kernel writes it. */
  readonly name: Buffer
  readonly nameAt: number
  lastUsed: number
}

interface Listening {
  readonly id: string
  readonly fd: number
  readonly family: 'IPv4' | 'IPv6'
  readonly turns: EndpointTurns
  readonly flows: Map<string, Flow>
}

export class UdpLoop {
  static readonly IDLE_MS = 2000
  static readonly MOST_FLOWS = 4096
  static readonly EVENTS = 256
  static readonly PACKET = 1 << 16
  static readonly BATCH = 64

  readonly #options: SpliceLoopOptions
  readonly #call: SpliceLoopOptions['calls']['call']
  readonly #epoll: number
  readonly #events: Buffer
  readonly #eventsAt: number
  readonly #scratch: Buffer
  readonly #scratchAt: number
  /** Kept, as the kernel writes into it. */
  readonly #packet: readonly [Buffer, number]
  readonly #packetAt: number
  readonly #listeners = new Map<string, Listening>()
  readonly #listenerOf = new Map<number, Listening>()
  readonly #flowOf = new Map<number, Flow>()
  #isStopping = false

  constructor(options: SpliceLoopOptions) {
    this.#options = options
    this.#call = options.calls.call
    const memory = (size: number) => {
      const bytes = Buffer.from(new ArrayBuffer(size))
      return [bytes, options.calls.addressOf(bytes)] as const
    }
    ;[this.#events, this.#eventsAt] = memory(UdpLoop.EVENTS * 16)
    ;[this.#scratch, this.#scratchAt] = memory(256)
    this.#packet = memory(UdpLoop.PACKET)
    this.#packetAt = this.#packet[1]
    this.#epoll = this.#call.epoll_create1(0o2000000)
    this.#watch(options.wakeFd)
  }

  run(): void {
    const { eventBytes, wakeFd } = this.#options
    while (!this.#isStopping) {
      const count = this.#call.epoll_wait(this.#epoll, this.#eventsAt, UdpLoop.EVENTS, 500)
      for (let i = 0; i < count; i++) {
        const fd = this.#events.readInt32LE(i * eventBytes + eventBytes - 8)
        const flow = this.#flowOf.get(fd)
        const listening = flow ? undefined : this.#listenerOf.get(fd)
        if (flow) this.#back(flow)
        else if (listening) this.#forward(listening)
        else if (fd === wakeFd) this.#takeMessages()
      }
    }
  }

  #watch(fd: number): void {
    this.#scratch.writeUInt32LE(1, 192)
    this.#scratch.writeInt32LE(fd, 192 + this.#options.eventBytes - 8)
    this.#call.epoll_ctl(this.#epoll, 1, fd, this.#scratchAt + 192)
  }

  #takeMessages(): void {
    this.#call.read(this.#options.wakeFd, this.#scratchAt, 8)
    for (let message = this.#options.takeMessage(); message; message = this.#options.takeMessage()) {
      if (message.op === 'open') this.#open(message.listener)
      else if (message.op === 'close') this.#close(message.id)
      else if (message.op === 'sweep') this.#sweep()
      else if (message.op === 'change') {
        const listening = this.#listeners.get(message.id)
        listening?.turns.change(message.targets)
        for (const flow of listening?.flows.values() ?? []) if (!listening!.turns.has(flow.target)) this.#endFlow(flow)
      } else {
        for (const id of [...this.#listeners.keys()]) this.#close(id)
        this.#isStopping = true
      }
    }
  }

  #socket(family: 'IPv4' | 'IPv6'): number {
    return this.#call.socket(family === 'IPv4' ? 2 : 10, 2 | 0o4000 | 0o2000000, 0)
  }

  #open({ id, family, ip, endpoints, affinityMs }: RelayListener): void {
    const fd = this.#socket(family)
    const size = this.#options.calls.writeAddress(this.#scratch, ip, 0)
    if (this.#call.bind(fd, this.#scratchAt, size) !== 0) {
      this.#options.answer({ id, failure: `errno ${this.#options.calls.errno()}` })
      this.#call.close(fd)
      return
    }
    const SO_RCVBUF = 8
    this.#scratch.writeInt32LE(1 << 20, 192)
    this.#call.setsockopt(fd, 1, SO_RCVBUF, this.#scratchAt + 192, 4)
    this.#scratch.writeUInt32LE(size, 128)
    this.#call.getsockname(fd, this.#scratchAt, this.#scratchAt + 128)
    const port = this.#scratch.readUInt16BE(2)
    const turns = this.#options.createTurns({ endpoints, affinityMs })
    const listening: Listening = { id, fd, family, turns, flows: new Map() }
    this.#listeners.set(id, listening)
    this.#listenerOf.set(fd, listening)
    this.#watch(fd)
    this.#options.answer({ id, port })
  }

  #close(id: string): void {
    const listening = this.#listeners.get(id)
    if (!listening) return
    for (const flow of listening.flows.values()) this.#endFlow(flow)
    this.#listeners.delete(id)
    this.#listenerOf.delete(listening.fd)
    this.#call.close(listening.fd)
  }

  #forward(listening: Listening): void {
    const size = listening.family === 'IPv4' ? 16 : 28
    for (let i = 0; i < UdpLoop.BATCH; i++) {
      this.#scratch.writeUInt32LE(size, 128)
      const { fd } = listening
      const [to, length] = [this.#packetAt, UdpLoop.PACKET]
      const count = this.#call.recvfrom(fd, to, length, 0x40, this.#scratchAt, this.#scratchAt + 128)
      if (count < 0) return
      const client = this.#scratch.toString('latin1', 2, size)
      const flow = listening.flows.get(client) ?? this.#openFlow(listening, client, size)
      if (!flow) continue
      flow.lastUsed = this.#options.now()
      this.#call.send(flow.fd, this.#packetAt, count, 0x4040)
    }
  }

  #openFlow(listening: Listening, client: string, size: number): Flow | undefined {
    const name = Buffer.from(new ArrayBuffer(28))
    this.#scratch.copy(name, 0, 0, size)
    const [from, to] = listening.family === 'IPv4' ? [4, 8] : [8, 24]
    const target = listening.turns.choose(this.#scratch.toString('latin1', from, to), false)
    if (!target) return undefined
    const fd = this.#connect(listening, target)
    if (fd < 0) return undefined
    const flow: Flow = {
      ...{ fd, client, listening, target: `${target.ip} ${target.port}`, name },
      ...{ nameAt: this.#options.calls.addressOf(name), lastUsed: 0 },
    }
    listening.flows.set(client, flow)
    this.#flowOf.set(fd, flow)
    this.#watch(fd)
    if (listening.flows.size > UdpLoop.MOST_FLOWS) this.#endFlow(listening.flows.values().next().value!)
    return flow
  }

  #connect({ family }: Listening, { ip, port }: RelayTarget): number {
    const fd = this.#socket(family)
    const size = this.#options.calls.writeAddress(this.#scratch, ip, port)
    if (fd < 0 || this.#call.connect(fd, this.#scratchAt, size) === 0) return fd
    this.#call.close(fd)
    return -1
  }

  /**
   * An answer goes to the client; a refusal ends the flow, so that the next packet goes to another endpoint. One at a time:
   * epoll tells of more, and mostly there is none.
   */
  #back(flow: Flow): void {
    const count = this.#call.recv(flow.fd, this.#packetAt, UdpLoop.PACKET, 0x40)
    if (count < 0) {
      const EAGAIN = 11
      if (this.#options.calls.errno() !== EAGAIN) this.#endFlow(flow)
      return
    }
    flow.lastUsed = this.#options.now()
    const size = flow.listening.family === 'IPv4' ? 16 : 28
    this.#call.sendto(flow.listening.fd, this.#packetAt, count, 0x4040, flow.nameAt, size)
  }

  #endFlow(flow: Flow): void {
    flow.listening.flows.delete(flow.client)
    this.#flowOf.delete(flow.fd)
    this.#call.close(flow.fd)
  }

  #sweep(): void {
    const now = this.#options.now()
    for (const { turns, flows } of this.#listeners.values()) {
      turns.sweep()
      for (const flow of flows.values()) if (now - flow.lastUsed > UdpLoop.IDLE_MS) this.#endFlow(flow)
    }
  }
}
