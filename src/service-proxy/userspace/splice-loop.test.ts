import { beforeEach, describe, expect, it } from 'vitest'
import { EndpointTurns } from './endpoint-turns.ts'
import { Epoll } from './epoll.ts'
import { PipePool } from './pipe-pool.ts'
import type { RelayMessage } from './relay.ts'
import type { SpliceCalls } from './splice-calls.ts'
import { SpliceLoop } from './splice-loop.ts'

const [IN, OUT, ERR, HUP] = [1, 4, 8, 16]
const WAKE = 100
/** Numbers as a kernel would give them: always the lowest that is free. */
const [LISTENER, CLIENT, UPSTREAM] = [0, 1, 2]

/** What epoll reports at once: descriptors and what happened to them. */
type Batch = readonly (readonly [fd: number, events: number])[]

/** A kernel in which nothing happens but what the test says, in the order in which it says so. */
class ScriptedKernel {
  readonly open = new Set<number>()
  readonly watched = new Map<number, number>()
  readonly messages: RelayMessage[] = []
  /** How many connections wait for `accept`. */
  arriving = 0
  /** What each call of `send` and `recv` returns; when there is nothing more, they would block. */
  readonly sent: number[] = []
  readonly received: number[] = []
  readonly #memory = new Map<number, Uint8Array>()
  #batches: Batch[] = []
  #nextAddress = 1

  /** Lets the loop look at these batches, and then holds it where it is. */
  happens(loop: SpliceLoop, ...batches: Batch[]): void {
    this.#batches = batches
    expect(() => loop.run()).toThrow('nothing more happens')
  }

  newLoop(): SpliceLoop {
    const calls: SpliceCalls = {
      errno: () => 11,
      addressOf: (bytes) => this.#addressOf(bytes),
      writeAddress: () => 16,
      call: this.#calls() as unknown as SpliceCalls['call'],
    }
    return new SpliceLoop({
      calls,
      epoll: new Epoll(calls, 12),
      pipes: new PipePool(calls),
      wakeFd: WAKE,
      takeMessage: () => this.messages.shift(),
      answer: () => {},
      createTurns: (targets) => new EndpointTurns(targets, () => 0),
      now: () => 0,
    })
  }

  #addressOf(bytes: Uint8Array): number {
    const address = this.#nextAddress * 2 ** 32
    this.#nextAddress++
    this.#memory.set(address, bytes)
    return address
  }

  #view(address: number): DataView {
    const bytes = this.#memory.get(address)!
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  #newFd(): number {
    let fd = 0
    while (this.open.has(fd)) fd++
    this.open.add(fd)
    return fd
  }

  #calls(): Record<string, (...args: number[]) => number> {
    const ok = () => 0
    return {
      ...{ bind: ok, listen: ok, getsockname: ok, setsockopt: ok, shutdown: ok, read: ok, connect: ok },
      epoll_create1: () => 99,
      socket: () => this.#newFd(),
      accept4: () => (this.arriving-- > 0 ? this.#newFd() : -1),
      close: (fd) => {
        this.watched.delete(fd!)
        return Number(this.open.delete(fd!)) - 1
      },
      epoll_ctl: (_epoll, op, fd, at) => {
        if (op === 2) this.watched.delete(fd!)
        else this.watched.set(fd!, this.#view(at!).getUint32(0, true))
        return 0
      },
      epoll_wait: (_epoll, at) => this.#report(this.#view(at!)),
      send: () => this.sent.shift() ?? -1,
      recv: () => this.received.shift() ?? -1,
    }
  }

  #report(events: DataView): number {
    const batch = this.#batches.shift()
    if (!batch) throw new Error('nothing more happens')
    for (const [i, [fd, happened]] of batch.entries()) {
      events.setUint32(i * 12, happened, true)
      events.setInt32(i * 12 + 4, fd, true)
    }
    return batch.length
  }
}

describe('what epoll told at once', () => {
  let kernel: ScriptedKernel
  let loop: SpliceLoop
  beforeEach(() => {
    kernel = new ScriptedKernel()
    loop = kernel.newLoop()
    const endpoints = [{ ip: '10.0.0.1', port: 80 }]
    const listener = { id: 'a', family: 'IPv4', ip: '10.96.0.1', protocol: 'TCP', endpoints, affinityMs: 0 } as const
    kernel.messages.push({ op: 'open', listener })
    kernel.arriving = 1
    kernel.happens(loop, [[WAKE, IN]], [[LISTENER, IN]], [[UPSTREAM, OUT]])
    expect([kernel.watched.get(UPSTREAM), kernel.watched.get(CLIENT)]).toEqual([IN, IN])
  })

  it('an endpoint that hung up is read on once its client has room, whatever was told before', () => {
    kernel.received.push(1000)
    kernel.sent.push(400)
    kernel.happens(loop, [[UPSTREAM, IN]])
    expect([kernel.watched.get(UPSTREAM), kernel.watched.get(CLIENT)]).toEqual([0, IN | OUT])
    kernel.sent.push(600)
    kernel.happens(loop, [
      [CLIENT, OUT],
      [UPSTREAM, HUP],
    ])
    expect([kernel.watched.get(UPSTREAM), kernel.watched.get(CLIENT)]).toEqual([IN, IN])
  })

  it('a hang-up is not told again and again while its client has no room', () => {
    kernel.received.push(1000)
    kernel.happens(loop, [[UPSTREAM, IN]], [[UPSTREAM, HUP]])
    expect(kernel.watched.has(UPSTREAM)).toBe(false)
    kernel.sent.push(1000)
    kernel.happens(loop, [[CLIENT, OUT]])
    expect(kernel.watched.get(UPSTREAM)).toBe(IN)
  })

  it('does not concern a connection that came since', () => {
    kernel.arriving = 1
    kernel.received.push(1000)
    kernel.happens(loop, [
      [UPSTREAM, ERR],
      [LISTENER, IN],
      [CLIENT, IN],
    ])
    expect(kernel.received).toEqual([1000])
    expect([...kernel.open].sort()).toEqual([LISTENER, 3, 4])
  })
})
