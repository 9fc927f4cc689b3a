/**
 * TCP by epoll, and by splice where there is much to carry: bytes never enter JavaScript. One thread serves all listeners.
 * The text of this class is run in a worker, so it is whole in itself: types are all that it imports.
 */
import type { EndpointTurns } from './endpoint-turns.ts'
import type { Epoll } from './epoll.ts'
import type { PipePool } from './pipe-pool.ts'
import type { RelayAnswer, RelayListener, RelayMessage, RelayTarget, RelayTargets } from './relay.ts'
import type { SpliceCalls } from './splice-calls.ts'

export interface SpliceLoopOptions {
  readonly calls: SpliceCalls
  readonly epoll: Epoll
  readonly pipes: PipePool
  /** Readable when there are messages. */
  readonly wakeFd: number
  readonly takeMessage: () => RelayMessage | undefined
  readonly answer: (answer: RelayAnswer) => void
  readonly createTurns: (targets: RelayTargets) => EndpointTurns
  /** Milliseconds that only grow. */
  readonly now: () => number
}

interface Listening {
  readonly id: string
  readonly fd: number
  readonly family: 'IPv4' | 'IPv6'
  readonly turns: EndpointTurns
}

interface Dial {
  readonly client: number
  readonly listening: Listening
  readonly address: string
  readonly attempt: number
  readonly deadline: number
}

export class SpliceLoop {
  static readonly DIAL_TIMEOUTS_MS = [250, 500, 1000, 2000]
  static readonly MOST_FDS = 1 << 16
  static readonly IN = 1
  static readonly OUT = 4
  static readonly BUFFER = 1 << 16
  static readonly PIPE = 1 << 20

  readonly #options: SpliceLoopOptions
  readonly #call: SpliceCalls['call']
  readonly #epoll: Epoll
  readonly #scratch: Buffer
  readonly #scratchAt: number
  readonly #buffer: Buffer
  readonly #bufferAt: number
  /** By descriptor: the other side, what is known (1: ended, 2: dialling, 4: its end was told). */
  readonly #peer = new Int32Array(SpliceLoop.MOST_FDS).fill(-1)
  readonly #state = new Uint8Array(SpliceLoop.MOST_FDS)
  /** Full buffers in a row: from some on it is worth a pipe. */
  readonly #bulk = new Uint8Array(SpliceLoop.MOST_FDS)
  readonly #pipeOut = new Int32Array(SpliceLoop.MOST_FDS)
  readonly #pipeIn = new Int32Array(SpliceLoop.MOST_FDS)
  readonly #inPipe = new Int32Array(SpliceLoop.MOST_FDS)
  /** What did not fit into the other side. */
  readonly #pending = new Map<number, { bytes: Buffer; at: number; from: number }>()
  readonly #listeners = new Map<string, Listening>()
  readonly #listenerOf = new Map<number, Listening>()
  readonly #dials = new Map<number, Dial>()
  /** Closed when all that epoll told at once was looked at: before, a new socket could get the number of an old event. */
  readonly #closing: number[] = []
  #connections = 0
  #isStopping = false

  constructor(options: SpliceLoopOptions) {
    this.#options = options
    this.#call = options.calls.call
    this.#epoll = options.epoll
    const memory = (size: number) => {
      const bytes = Buffer.from(new ArrayBuffer(size))
      return [bytes, options.calls.addressOf(bytes)] as const
    }
    ;[this.#scratch, this.#scratchAt] = memory(256)
    ;[this.#buffer, this.#bufferAt] = memory(SpliceLoop.BUFFER)
    this.#epoll.watch(options.wakeFd, SpliceLoop.IN)
  }

  /** Until it is told to stop and the last connection has ended. */
  run(): void {
    const { wakeFd } = this.#options
    while (!this.#isStopping || this.#connections > 0) {
      const wait = this.#dials.size > 0 ? 20 : 500
      const count = this.#epoll.wait(wait)
      for (let i = 0; i < count; i++) {
        const fd = this.#epoll.fdOf(i)
        const listening = this.#listenerOf.get(fd)
        if (fd === wakeFd) this.#takeMessages()
        else if (listening) this.#accept(listening)
        else if (this.#peer[fd] !== -1) this.#happened(fd, this.#epoll.eventsOf(i))
      }
      if (this.#dials.size > 0) this.#endLateDials()
      for (const fd of this.#closing.splice(0)) this.#call.close(fd)
    }
  }

  #takeMessages(): void {
    this.#call.read(this.#options.wakeFd, this.#scratchAt, 8)
    for (let message = this.#options.takeMessage(); message; message = this.#options.takeMessage()) {
      if (message.op === 'open') this.#open(message.listener)
      else if (message.op === 'close') this.#close(message.id)
      else if (message.op === 'sweep') for (const { turns } of this.#listeners.values()) turns.sweep()
      else if (message.op === 'change') {
        const listening = this.#listeners.get(message.id)
        listening?.turns.change(message.targets)
      } else {
        for (const id of [...this.#listeners.keys()]) this.#close(id)
        this.#isStopping = true
      }
    }
  }

  #open({ id, family, ip, endpoints, affinityMs }: RelayListener): void {
    const fd = this.#socket(family)
    const size = this.#options.calls.writeAddress(this.#scratch, ip, 0)
    const isOpen = this.#call.bind(fd, this.#scratchAt, size) === 0 && this.#call.listen(fd, 4096) === 0
    if (!isOpen) {
      this.#options.answer({ id, failure: `errno ${this.#options.calls.errno()}` })
      this.#call.close(fd)
      return
    }
    this.#scratch.writeUInt32LE(size, 128)
    this.#call.getsockname(fd, this.#scratchAt, this.#scratchAt + 128)
    const port = this.#scratch.readUInt16BE(2)
    const listening = { id, fd, family, turns: this.#options.createTurns({ endpoints, affinityMs }) }
    this.#listeners.set(id, listening)
    this.#listenerOf.set(fd, listening)
    this.#epoll.watch(fd, SpliceLoop.IN)
    this.#options.answer({ id, port })
  }

  #close(id: string): void {
    const listening = this.#listeners.get(id)
    if (!listening) return
    this.#listeners.delete(id)
    this.#listenerOf.delete(listening.fd)
    this.#epoll.forget(listening.fd)
    this.#closing.push(listening.fd)
  }

  /** Not blocking, and without delay: accepted sockets inherit that of their listener. */
  #socket(family: 'IPv4' | 'IPv6'): number {
    const fd = this.#call.socket(family === 'IPv4' ? 2 : 10, 1 | 0o4000 | 0o2000000, 0)
    this.#scratch.writeInt32LE(1, 192)
    if (fd >= 0) this.#call.setsockopt(fd, 6, 1, this.#scratchAt + 192, 4)
    return fd
  }

  #accept(listening: Listening): void {
    const { isSticky } = listening.turns
    for (let i = 0; i < 64; i++) {
      if (isSticky) this.#scratch.writeUInt32LE(28, 128)
      const at = isSticky ? this.#scratchAt : 0
      const client = this.#call.accept4(listening.fd, at, isSticky ? at + 128 : 0, 0o4000 | 0o2000000)
      if (client < 0) return
      const [from, to] = listening.family === 'IPv4' ? [4, 8] : [8, 24]
      const address = isSticky ? this.#scratch.toString('latin1', from, to) : ''
      if (client >= SpliceLoop.MOST_FDS) this.#call.close(client)
      else {
        this.#connections++
        this.#dial(client, listening, address, 0)
      }
    }
  }

  /** One endpoint after the other until one answers. */
  #dial(client: number, listening: Listening, address: string, first: number): void {
    const timeouts = SpliceLoop.DIAL_TIMEOUTS_MS
    const most = Math.max(timeouts.length, listening.turns.count)
    for (let attempt = first; attempt < most; attempt++) {
      const target = listening.turns.choose(address, attempt > 0)
      const upstream = target ? this.#connect(listening, target) : -1
      if (upstream < 0) continue
      this.#peer[client] = upstream
      this.#peer[upstream] = client
      this.#state[client] = 0
      this.#state[upstream] = 2
      this.#bulk[client] = this.#bulk[upstream] = 0
      const deadline = this.#options.now() + timeouts[Math.min(attempt, timeouts.length - 1)]!
      this.#dials.set(upstream, { client, listening, address, attempt, deadline })
      this.#epoll.watch(upstream, SpliceLoop.OUT)
      this.#epoll.watch(client, 0)
      return
    }
    this.#reset(client)
    this.#connections--
  }

  #connect({ family }: Listening, { ip, port }: RelayTarget): number {
    const fd = this.#socket(family)
    if (fd < 0) return fd
    if (fd < SpliceLoop.MOST_FDS) {
      const size = this.#options.calls.writeAddress(this.#scratch, ip, port)
      const EINPROGRESS = 115
      if (this.#call.connect(fd, this.#scratchAt, size) === 0 || this.#options.calls.errno() === EINPROGRESS) return fd
    }
    this.#call.close(fd)
    return -1
  }

  #nextEndpoint(upstream: number): void {
    const dial = this.#dials.get(upstream)!
    this.#dials.delete(upstream)
    this.#forget(upstream)
    this.#closing.push(upstream)
    this.#dial(dial.client, dial.listening, dial.address, dial.attempt + 1)
  }

  #endLateDials(): void {
    const now = this.#options.now()
    for (const [upstream, { deadline }] of [...this.#dials]) if (now >= deadline) this.#nextEndpoint(upstream)
  }

  #happened(fd: number, events: number): void {
    const { IN, OUT } = SpliceLoop
    const [ERR, HUP] = [8, 16]
    if (this.#state[fd]! & 2) {
      if (events & (ERR | HUP)) this.#nextEndpoint(fd)
      else if (events & OUT) this.#connected(fd)
      return
    }
    if (events & ERR) {
      this.#end(fd, true)
      return
    }
    if (events & OUT) this.#flush(fd)
    if (this.#peer[fd] === -1) return
    if (events & IN) this.#pump(fd)
    else if (events & HUP) this.#hungUp(fd)
  }

  /**
   * A client that hangs up before there is an endpoint has nobody to tell. One whose bytes are waited for again since
   * epoll told this will be told of once more, with them.
   */
  #hungUp(fd: number): void {
    if (this.#dials.has(this.#peer[fd]!)) this.#end(fd, false)
    else if (!this.#epoll.isWatchedFor(fd, SpliceLoop.IN)) this.#epoll.mute(fd)
  }

  #connected(upstream: number): void {
    this.#dials.delete(upstream)
    this.#state[upstream] = 0
    this.#epoll.watch(upstream, SpliceLoop.IN)
    this.#epoll.watch(this.#peer[upstream]!, SpliceLoop.IN)
    this.#pump(this.#peer[upstream]!)
  }

  #pump(from: number): void {
    if (this.#pending.has(from)) return
    if (this.#bulk[from]! > 3 || this.#inPipe[from]! > 0) this.#pumpByPipe(from)
    else this.#pumpByBuffer(from)
  }

  #pumpByBuffer(from: number): void {
    const to = this.#peer[from]!
    const DONTWAIT = 0x40
    const NOSIGNAL = 0x4000
    if (this.#state[from]! & 1) return
    const count = this.#call.recv(from, this.#bufferAt, SpliceLoop.BUFFER, DONTWAIT)
    if (count < 0) return
    if (count === 0) {
      this.#state[from]! |= 1
      this.#tellEnd(from)
      return
    }
    this.#bulk[from] = count === SpliceLoop.BUFFER ? Math.min(this.#bulk[from]! + 1, 255) : 0
    const sent = Math.max(0, this.#call.send(to, this.#bufferAt, count, DONTWAIT | NOSIGNAL))
    if (sent === count) return
    const bytes = Buffer.from(new ArrayBuffer(count - sent))
    this.#buffer.copy(bytes, 0, sent, count)
    this.#pending.set(from, { bytes, at: this.#options.calls.addressOf(bytes), from: 0 })
    this.#epoll.watchNoMore(from, SpliceLoop.IN)
    this.#epoll.watchAlso(to, SpliceLoop.OUT)
  }

  #pumpByPipe(from: number): void {
    const to = this.#peer[from]!
    const MOVE_NONBLOCK = 3
    this.#takePipe(from)
    for (let i = 0; i < 4; i++) {
      if (!(this.#state[from]! & 1)) {
        const count = this.#call.splice(from, 0, this.#pipeIn[from]!, 0, SpliceLoop.PIPE, MOVE_NONBLOCK)
        if (count > 0) {
          this.#inPipe[from]! += count
          if (count < 4096) this.#bulk[from] = 0
        } else if (count === 0) this.#state[from]! |= 1
        else if (this.#inPipe[from] === 0) return
      }
      if (!this.#drainPipe(from, to)) {
        if (this.#inPipe[from]! >= SpliceLoop.PIPE / 2 || this.#state[from]! & 1)
          this.#epoll.watchNoMore(from, SpliceLoop.IN)
        this.#epoll.watchAlso(to, SpliceLoop.OUT)
        return
      }
      if (this.#state[from]! & 1) {
        this.#tellEnd(from)
        return
      }
      if (this.#bulk[from] === 0) return
    }
  }

  #drainPipe(from: number, to: number): boolean {
    while (this.#inPipe[from]! > 0) {
      const count = this.#call.splice(this.#pipeOut[from]!, 0, to, 0, this.#inPipe[from]!, 3)
      if (count <= 0) return false
      this.#inPipe[from]! -= count
    }
    return true
  }

  /** There is room again for what comes from the other side. */
  #flush(to: number): void {
    const from = this.#peer[to]!
    const rest = this.#pending.get(from)
    if (rest) {
      const sent = this.#call.send(to, rest.at + rest.from, rest.bytes.length - rest.from, 0x4040)
      if (sent > 0) rest.from += sent
      if (rest.from < rest.bytes.length) return
      this.#pending.delete(from)
    } else if (!this.#drainPipe(from, to)) return
    this.#epoll.watchNoMore(to, SpliceLoop.OUT)
    if (this.#state[from]! & 1) this.#tellEnd(from)
    else this.#epoll.watchAlso(from, SpliceLoop.IN)
  }

  /** All of this direction is delivered: the other side hears of the end. When both did, it is over. */
  #tellEnd(from: number): void {
    const to = this.#peer[from]!
    if (this.#state[to]! & 4) return
    this.#state[to]! |= 4
    if (this.#state[from]! & 4) {
      this.#end(from, false)
      return
    }
    this.#call.shutdown(to, 1)
    this.#epoll.watchNoMore(from, SpliceLoop.IN)
  }

  #end(fd: number, isReset: boolean): void {
    const other = this.#peer[fd]!
    for (const upstream of [fd, other]) this.#dials.delete(upstream)
    this.#forget(fd)
    this.#forget(other)
    this.#closing.push(fd)
    if (isReset) this.#reset(other)
    else this.#closing.push(other)
    this.#connections--
  }

  #reset(fd: number): void {
    this.#epoll.forget(fd)
    this.#scratch.writeInt32LE(1, 192)
    this.#scratch.writeInt32LE(0, 196)
    this.#call.setsockopt(fd, 1, 13, this.#scratchAt + 192, 8)
    this.#closing.push(fd)
  }

  #forget(fd: number): void {
    this.#peer[fd] = -1
    this.#state[fd] = 0
    this.#epoll.forget(fd)
    this.#pending.delete(fd)
    if (this.#pipeIn[fd] === 0) return
    this.#options.pipes.give([this.#pipeOut[fd]!, this.#pipeIn[fd]!], this.#inPipe[fd] === 0)
    this.#pipeOut[fd] = this.#pipeIn[fd] = this.#inPipe[fd] = 0
  }

  #takePipe(fd: number): void {
    if (this.#pipeIn[fd] !== 0) return
    ;[this.#pipeOut[fd], this.#pipeIn[fd]] = this.#options.pipes.take()
  }
}
