import type { MessagePort } from 'node:worker_threads'
import type * as Koffi from 'koffi'
import type { AnswerTable, PacketMemory } from './answer-table.ts'
import type { JoinedSend } from './joined-send.ts'
import type { LoopData, SlowQuery, TableChange } from './worker-messages.ts'

/**
 * Receives and sends many packets by one system call each, and sleeps in the kernel in between. Like AnswerTable it runs
 * in a worker that is started from its text, and needs nothing from outside.
 */
export class BatchLoop {
  readonly #data: LoopData
  readonly #table: AnswerTable
  readonly #port: MessagePort
  readonly #takeMessage: (port: MessagePort) => { message: TableChange } | undefined
  readonly #numbers: Int32Array
  readonly #memory: PacketMemory
  readonly #bytes: Uint8Array
  readonly #words: Uint32Array
  readonly #receive: (flags: number) => number
  readonly #sleep: (microseconds: number) => number
  readonly #answers: JoinedSend
  #version = 0

  constructor(
    data: LoopData,
    table: AnswerTable,
    worker: {
      readonly koffi: typeof Koffi
      readonly port: MessagePort
      readonly takeMessage: (port: MessagePort) => { message: TableChange } | undefined
      readonly JoinedSend: typeof JoinedSend
    },
  ) {
    const { batch, bufferSize, fd } = data
    this.#data = data
    this.#table = table
    this.#port = worker.port
    this.#takeMessage = worker.takeMessage
    this.#numbers = new Int32Array(data.shared, 0, data.layout.numbers)
    // Per packet: struct mmsghdr of 64 bytes, struct iovec of 16, 32 for the address of the client, then the bytes.
    const memory = new ArrayBuffer(batch * (64 + 16 + 32 + bufferSize))
    this.#bytes = new Uint8Array(memory)
    this.#words = new Uint32Array(memory)
    this.#memory = { bytes: this.#bytes, words: this.#words }
    const { receive, send, sleep, base } = this.#calls(worker.koffi)
    this.#sleep = sleep
    this.#lay(new DataView(memory), base)
    this.#receive = (flags) => receive(fd, Number(base), batch, flags, 0)
    let joined = 0
    this.#answers = new worker.JoinedSend(
      { batch, words: this.#words },
      {
        addressOf(bytes) {
          joined = Number(worker.koffi.address(bytes))
          return joined
        },
        send: (first, count) => send(fd, joined + first * 64, count, 0),
        sendOne: (packet) => void send(fd, Number(base) + packet * 64, 1, 0),
        errno: () => worker.koffi.errno(),
      },
    )
  }

  #calls(koffi: typeof Koffi) {
    const libc = koffi.load(null)
    return {
      receive: libc.func('int recvmmsg(int fd, uintptr_t messages, uint32_t count, int flags, uintptr_t timeout)'),
      send: libc.func('int sendmmsg(int fd, uintptr_t messages, uint32_t count, int flags)'),
      sleep: libc.func('int usleep(uint32_t microseconds)'),
      base: koffi.address(this.#bytes),
    }
  }

  /** The headers point to the addresses and the buffers, once and for all. */
  #lay(view: DataView, base: bigint): void {
    const { batch, bufferSize } = this.#data
    for (let i = 0; i < batch; i++) {
      const [header, vector] = [i * 64, batch * 64 + i * 16]
      view.setBigUint64(header, base + BigInt(batch * 80 + i * 32), true)
      view.setBigUint64(header + 16, base + BigInt(vector), true)
      view.setBigUint64(header + 24, 1n, true)
      view.setBigUint64(vector, base + BigInt(batch * 112 + i * bufferSize), true)
    }
    this.#reset(batch)
  }

  /** The kernel wrote the lengths it found; for the next packets they are the lengths there are. */
  #reset(count: number): void {
    const { batch, bufferSize, addressSize } = this.#data
    for (let i = 0; i < count; i++) {
      this.#words[i * 16 + 2] = addressSize
      this.#words[batch * 16 + i * 4 + 2] = bufferSize
    }
  }

  run(errno: () => number): void {
    const { layout } = this.#data
    const WAIT_FOR_ONE = 0x10000
    // Under load more come meanwhile: half the time per query, and no wait for whoever asks alone.
    const REST = 50
    // No packet for a while, a signal, a client that is gone, no memory just now: nothing to end for.
    const harmless = new Set([4, 11, 12, 105, 111])
    for (;;) {
      const count = this.#receive(WAIT_FOR_ONE)
      if (Atomics.load(this.#numbers, layout.stop) !== 0) return
      if (count < 0 && !harmless.has(errno())) throw new Error(`recvmmsg: errno ${errno()}`)
      if (count <= 0) continue
      if (Atomics.load(this.#numbers, layout.version) !== this.#version) this.#follow()
      this.#answer(count)
      this.#reset(count)
      if (count > 1) this.#sleep(REST)
    }
  }

  /** What the main thread said before it raised the version: before any packet is answered that came after. */
  #follow(): void {
    this.#version = Atomics.load(this.#numbers, this.#data.layout.version)
    for (let taken = this.#takeMessage(this.#port); taken; taken = this.#takeMessage(this.#port)) {
      const change = taken.message
      if ('keep' in change) this.#table.set(change.keep, change.packets, change.slot)
      else if ('drop' in change) this.#table.delete(change.drop)
      else this.#table.clear()
    }
  }

  /** What the table knows is answered here; the others go to the main thread. */
  #answer(count: number): void {
    const { batch, bufferSize, layout } = this.#data
    const serial = this.#numbers[layout.serial]!
    const slow: SlowQuery[] = []
    for (let i = 0; i < count; i++) {
      const at = batch * 112 + i * bufferSize
      const length = this.#words[i * 16 + 14]!
      const size = this.#table.answer(this.#memory, at, length, serial)
      if (size > 0) {
        this.#words[batch * 16 + i * 4 + 2] = size
        this.#answers.add(i)
        continue
      }
      slow.push({
        packet: this.#bytes.slice(at, at + length),
        address: this.#bytes.slice(batch * 80 + i * 32, batch * 80 + i * 32 + this.#words[i * 16 + 2]!),
      })
    }
    this.#answers.flush()
    if (slow.length > 0) this.#handOver(slow)
  }

  #handOver(slow: readonly SlowQuery[]): void {
    const { layout, maxWaiting } = this.#data
    if (Atomics.load(this.#numbers, layout.waiting) >= maxWaiting) return
    Atomics.add(this.#numbers, layout.waiting, slow.length)
    this.#port.postMessage(slow)
  }
}
