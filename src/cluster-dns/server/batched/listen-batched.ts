import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { linuxCalls } from '../../../linux/ffi.ts'
import type { Handler } from '../handle.ts'
import type { ListenAddress, Listening } from '../listen.ts'
import type { KeptAnswers } from './kept-answers.ts'
import { RestartedWorker } from './restarted-worker.ts'
import { familyOf, hostOf, portOf, socketAddress } from './socket-address.ts'
import { BUFFER_SIZE, type LoopData, SHARED, type SlowQuery, type TableChange } from './worker-messages.ts'

export interface BatchedOptions {
  readonly handle: Handler
  readonly kept: KeptAnswers
  /** The present serial of the zones. */
  readonly serial: () => number
  readonly seed: number
  readonly clock: Clock
  readonly log: Logger
}

export interface ReadyAnswers {
  /** How many answers of each slot of KeptAnswers were given. */
  readonly hits: Float64Array
  serialChanged(): void
}

const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const [SOL_SOCKET, SO_SNDBUF, SO_RCVBUF, SO_RCVTIMEO] = [1, 7, 8, 20]
const [IPPROTO_IPV6, IPV6_V6ONLY] = [41, 26]
const SOCKET_BUFFER = 1 << 20
/** A worker is asleep in the kernel for so long at most: the process could not end before. */
const WAKE_MILLISECONDS = 500
const BATCH = 64
const MAX_WAITING = 10_000

/** Serves by UDP from a worker that answers most queries by itself. Throws where the system cannot do that. */
export async function listenBatched(address: ListenAddress, options: BatchedOptions): Promise<Listening> {
  const require = createRequire(import.meta.url)
  const calls = linuxCalls()
  const fd = openSocket(address)
  const own = Buffer.alloc(familyOf(address.host) === 2 ? 16 : 28)
  calls.getsockname(fd, own)
  const shared = new SharedArrayBuffer(SHARED.hitsAt + SHARED.hitSlots * 8)
  const numbers = new Int32Array(shared, 0, SHARED.numbers)
  const data: LoopData = {
    ...{ fd, shared, seed: options.seed, layout: SHARED, koffi: require.resolve('koffi') },
    ...{ batch: BATCH, bufferSize: BUFFER_SIZE, addressSize: own.length, maxWaiting: MAX_WAITING },
  }
  const sendTo = senderOf(require('koffi') as typeof Koffi, fd)
  const worker = new RestartedWorker(data, options, (slow) => {
    for (const query of slow) {
      answerSlowly(query, options.handle, sendTo.send, () => Atomics.sub(numbers, SHARED.waiting, 1))
    }
  })
  const serialChanged = () => void Atomics.store(numbers, SHARED.serial, options.serial())
  const tell = (change: TableChange) => {
    worker.post(change)
    Atomics.add(numbers, SHARED.version, 1)
  }
  try {
    await worker.start()
  } catch (error) {
    calls.close(fd)
    throw error
  }
  options.kept.add(tell)
  serialChanged()
  return {
    port: portOf(own),
    ready: { hits: new Float64Array(shared, SHARED.hitsAt, SHARED.hitSlots), serialChanged },
    async [Symbol.asyncDispose]() {
      options.kept.remove(tell)
      Atomics.store(numbers, SHARED.stop, 1)
      // An empty packet to itself wakes the worker.
      sendTo.send(new Uint8Array(0), own)
      await worker.ended()
      sendTo.close()
      calls.close(fd)
    },
  }
}

function openSocket({ host, port }: ListenAddress): number {
  const calls = linuxCalls()
  const must = (result: number, what: string) => {
    if (result < 0) throw new Error(`${what} ${host}:${port}: errno ${-result}`)
    return result
  }
  const number = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    return bytes
  }
  const timeout = Buffer.alloc(16)
  timeout.writeBigInt64LE(BigInt(WAKE_MILLISECONDS) * 1000n, 8)
  const fd = must(calls.socket(familyOf(host), SOCK_DGRAM | SOCK_CLOEXEC, 0), 'socket')
  try {
    calls.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, number(SOCKET_BUFFER))
    calls.setsockopt(fd, SOL_SOCKET, SO_SNDBUF, number(SOCKET_BUFFER))
    must(calls.setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, timeout), 'SO_RCVTIMEO')
    if (host.includes(':')) must(calls.setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, number(1)), 'IPV6_V6ONLY')
    must(calls.bind(fd, socketAddress(host, port)), 'bind')
  } catch (error) {
    calls.close(fd)
    throw error
  }
  return fd
}

type SendTo = (packet: Uint8Array, address: Uint8Array) => void

/** After `close` nothing is sent: the number of the socket may mean another one by then. */
function senderOf(koffi: typeof Koffi, fd: number): { readonly send: SendTo; close(): void } {
  const sendto = koffi
    .load(null)
    .func('int64_t sendto(int fd, void *bytes, size_t length, int flags, void *address, uint32_t size)')
  const MSG_DONTWAIT = 0x40
  let isOpen = true
  return {
    send(packet, address) {
      if (isOpen) sendto(fd, packet, packet.length, MSG_DONTWAIT, address, address.length)
    },
    close() {
      isOpen = false
    },
  }
}

function answerSlowly({ packet, address }: SlowQuery, handle: Handler, sendTo: SendTo, done: () => void): void {
  const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length)
  const answered = (answer: Buffer | undefined) => {
    done()
    if (answer) sendTo(answer, address)
  }
  const answer = handle(bytes, { client: hostOf(address), transport: 'udp' })
  if (answer instanceof Promise) void answer.then(answered)
  else answered(answer)
}
