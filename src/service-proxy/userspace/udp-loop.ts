/**
 * UDP by epoll: a connected socket for each client, so that the kernel tells answers apart and refusals are heard. Packets
 * that wait are taken and given by the batch (recvmmsg, sendmmsg). The text of this class is run in a worker, so it is whole
 * in itself: types are all that it imports.
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
  /** Slots of packets on their way to the endpoint. */
  readonly waiting: number[]
  lastUsed: number
  isOver: boolean
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
  static readonly PACKET = 1 << 16
  static readonly BATCH = 32
  /** Batches that one listener may bring before the others have their turn. */
  static readonly ROUNDS = 4
  /** Where in the memory of packets: headers to receive with are first, then these. */
  static readonly OUT = UdpLoop.BATCH * 64
  static readonly NAMES = UdpLoop.BATCH * 128
  static readonly VECTORS = UdpLoop.BATCH * 160
  static readonly BYTES = UdpLoop.BATCH * 176

  readonly #options: SpliceLoopOptions
  readonly #call: SpliceLoopOptions['calls']['call']
  readonly #scratch: Buffer
  readonly #scratchAt: number
  /** A slot for each packet of a batch: struct mmsghdr to receive and to send, address, struct iovec, and the bytes. */
  readonly #slots: Buffer
  readonly #slotsAt: number
  readonly #words: Uint32Array
  readonly #listeners = new Map<string, Listening>()
  readonly #listenerOf = new Map<number, Listening>()
  readonly #flowOf = new Map<number, Flow>()
  /** Answers in the first slots, which go to clients of this listener. */
  #answers = 0
  #answering: Listening | undefined = undefined
  #now = 0
  #isStopping = false
  /** In this turn. */
  #received = 0

  constructor(options: SpliceLoopOptions) {
    this.#options = options
    this.#call = options.calls.call
    const memory = (size: number) => {
      const bytes = Buffer.from(new ArrayBuffer(size))
      return [bytes, options.calls.addressOf(bytes)] as const
    }
    ;[this.#scratch, this.#scratchAt] = memory(256)
    ;[this.#slots, this.#slotsAt] = memory(UdpLoop.BYTES + UdpLoop.BATCH * UdpLoop.PACKET)
    this.#words = new Uint32Array(this.#slots.buffer)
    for (let i = 0; i < UdpLoop.BATCH; i++) this.#lay(i)
    this.#free(UdpLoop.BATCH)
    this.#watch(options.wakeFd)
  }

  run(): void {
    const { epoll, wakeFd } = this.#options
    // Under load more come meanwhile, and waking up for each costs more than passing it on. Who talks alone does not wait.
    const REST = 50
    while (!this.#isStopping) {
      const count = epoll.wait(500)
      this.#received = 0
      for (let i = 0; i < count; i++) {
        const fd = epoll.fdOf(i)
        const flow = this.#flowOf.get(fd)
        const listening = flow ? undefined : this.#listenerOf.get(fd)
        if (flow) this.#back(flow)
        else if (listening) this.#forward(listening)
        else if (fd === wakeFd) this.#takeMessages()
      }
      this.#sendAnswers()
      if (this.#received > 1) this.#call.usleep(REST)
    }
  }

  #point(at: number, to: number): void {
    this.#words[at / 4] = to % 2 ** 32
    this.#words[at / 4 + 1] = Math.floor(to / 2 ** 32)
  }

  /** What stays: a slot's headers point to its address, its vector, and that to its bytes. */
  #lay(slot: number): void {
    const vector = UdpLoop.VECTORS + slot * 16
    this.#point(slot * 64, this.#slotsAt + UdpLoop.NAMES + slot * 32)
    this.#point(vector, this.#slotsAt + UdpLoop.BYTES + slot * UdpLoop.PACKET)
    for (const header of [slot * 64, UdpLoop.OUT + slot * 64]) {
      this.#point(header + 16, this.#slotsAt + vector)
      this.#words[header / 4 + 6] = 1
    }
  }

  /** The kernel wrote how long names and packets are; for the next ones it is the room there is. */
  #free(count: number): void {
    for (let i = 0; i < count; i++) {
      this.#words[i * 16 + 2] = 28
      this.#words[UdpLoop.VECTORS / 4 + i * 4 + 2] = UdpLoop.PACKET
    }
  }

  /** Into the slots from this one on; how many. */
  #receive(fd: number, first: number): number {
    const MSG_DONTWAIT = 0x40
    const { BATCH, VECTORS } = UdpLoop
    const count = this.#call.recvmmsg(fd, this.#slotsAt + first * 64, BATCH - first, MSG_DONTWAIT, 0)
    for (let i = first; i < first + count; i++) this.#words[VECTORS / 4 + i * 4 + 2] = this.#words[i * 16 + 14]!
    if (count > 0) this.#received += count
    return count
  }

  /** The packets of the headers before `count`. One that cannot be sent is lost, as packets may be. */
  #send(fd: number, count: number): void {
    const flags = 0x4040
    for (let sent = 0; sent < count; ) {
      const at = this.#slotsAt + UdpLoop.OUT + sent * 64
      sent += Math.max(1, this.#call.sendmmsg(fd, at, count - sent, flags))
    }
  }

  #watch(fd: number): void {
    const IN = 1
    this.#options.epoll.watch(fd, IN)
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
    this.#closeWatched(listening.fd)
  }

  #forward(listening: Listening): void {
    this.#sendAnswers()
    for (let round = 0; round < UdpLoop.ROUNDS; round++) {
      const count = this.#receive(listening.fd, 0)
      if (count <= 0) return
      this.#now = this.#options.now()
      for (const flow of this.#flowsOf(listening, count)) this.#sendOn(flow)
      this.#free(count)
      if (count < UdpLoop.BATCH) return
    }
  }

  /** Whose packets are in the first slots; each knows which ones. */
  #flowsOf(listening: Listening, count: number): Set<Flow> {
    const flows = new Set<Flow>()
    const size = listening.family === 'IPv4' ? 16 : 28
    for (let slot = 0; slot < count; slot++) {
      const name = UdpLoop.NAMES + slot * 32
      const client = this.#slots.toString('latin1', name + 2, name + size)
      const flow = listening.flows.get(client) ?? this.#openFlow(listening, client, name, size)
      if (!flow) continue
      flow.waiting.push(slot)
      flows.add(flow)
    }
    return flows
  }

  #sendOn(flow: Flow): void {
    if (flow.isOver) return
    const { waiting } = flow
    for (let i = 0; i < waiting.length; i++) this.#address(i, waiting[i]!, 0, 0)
    this.#send(flow.fd, waiting.length)
    waiting.length = 0
    flow.lastUsed = this.#now
  }

  /** The header sends what is in the slot, to this address. */
  #address(header: number, slot: number, nameAt: number, size: number): void {
    const at = UdpLoop.OUT + header * 64
    this.#point(at, nameAt)
    this.#words[at / 4 + 2] = size
    this.#point(at + 16, this.#slotsAt + UdpLoop.VECTORS + slot * 16)
  }

  #openFlow(listening: Listening, client: string, nameAt: number, size: number): Flow | undefined {
    const name = Buffer.from(new ArrayBuffer(28))
    this.#slots.copy(name, 0, nameAt, nameAt + size)
    const [from, to] = listening.family === 'IPv4' ? [4, 8] : [8, 24]
    const target = listening.turns.choose(name.toString('latin1', from, to), false)
    if (!target) return undefined
    const fd = this.#connect(listening, target)
    if (fd < 0) return undefined
    const flow: Flow = {
      ...{ fd, client, listening, target: `${target.ip} ${target.port}`, name, waiting: [], isOver: false },
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

  /** Answers go to the client; a refusal ends the flow, so that the next packet goes to another endpoint. */
  #back(flow: Flow): void {
    if (this.#answering !== flow.listening || this.#answers === UdpLoop.BATCH) this.#sendAnswers()
    const first = this.#answers
    const count = this.#receive(flow.fd, first)
    if (count < 0) {
      const EAGAIN = 11
      if (this.#options.calls.errno() !== EAGAIN) this.#endFlow(flow)
      return
    }
    const size = flow.listening.family === 'IPv4' ? 16 : 28
    for (let slot = first; slot < first + count; slot++) this.#address(slot, slot, flow.nameAt, size)
    this.#answers = first + count
    this.#answering = flow.listening
    flow.lastUsed = this.#options.now()
  }

  #sendAnswers(): void {
    const count = this.#answers
    if (count === 0) return
    this.#answers = 0
    this.#send(this.#answering!.fd, count)
    this.#free(count)
  }

  /** Answers that wait name the client by memory of its flow. */
  #endFlow(flow: Flow): void {
    this.#sendAnswers()
    flow.isOver = true
    flow.listening.flows.delete(flow.client)
    this.#flowOf.delete(flow.fd)
    this.#closeWatched(flow.fd)
  }

  #closeWatched(fd: number): void {
    this.#options.epoll.forget(fd)
    this.#call.close(fd)
  }

  #sweep(): void {
    const now = this.#options.now()
    for (const { turns, flows } of this.#listeners.values()) {
      turns.sweep()
      for (const flow of flows.values()) if (now - flow.lastUsed > UdpLoop.IDLE_MS) this.#endFlow(flow)
    }
  }
}
