/**
 * Workers as text: the same from sources, from a bundle and in tests, where a worker could not load TypeScript. Their
 * threads enter the node's namespace for ever, so that every socket they make is there.
 */
import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import { EndpointTurns } from './endpoint-turns.ts'
import { Epoll } from './epoll.ts'
import { NodeRelay } from './node-relay.ts'
import { PipePool } from './pipe-pool.ts'
import type { Relay, RelayListener, RelayTargets } from './relay.ts'
import { spliceCalls } from './splice-calls.ts'
import { SpliceLoop } from './splice-loop.ts'
import { UdpLoop } from './udp-loop.ts'
import { WorkerRelay } from './worker-relay.ts'

export interface RelayOptions {
  readonly namespace?: NetworkNamespace
  readonly clock: Clock
  readonly log: Logger
}

const CLONE_NEWNET = 0x40000000
const NONBLOCK_CLOEXEC = 0o4000 | 0o2000000

const nodeProgram = () => `
'use strict'
const { parentPort, workerData } = require('node:worker_threads')
const EndpointTurns = ${EndpointTurns.toString()}
const NodeRelay = ${NodeRelay.toString()}
const now = () => performance.now()
if (workerData.namespace !== undefined) {
  const koffi = require(workerData.koffi)
  const setns = koffi.load(null).func('int setns(int fd, int type)')
  if (setns(workerData.namespace, ${CLONE_NEWNET}) !== 0) throw new Error('setns: errno ' + koffi.errno())
}
const clock = { ${systemClock.after.toString()} }
const relay = new NodeRelay({
  after: clock.after,
  net: require('node:net'),
  dgram: require('node:dgram'),
  answer: (answer) => parentPort.postMessage(answer),
  createTurns: (targets) => new EndpointTurns(targets, now),
  now,
})
parentPort.on('message', (message) => {
  relay.handle(message)
  if (message.op === 'stop') parentPort.close()
})
`

const epollProgram = (loop: typeof SpliceLoop | typeof UdpLoop) => `
'use strict'
const { parentPort, receiveMessageOnPort, workerData } = require('node:worker_threads')
const spliceCalls = ${spliceCalls.toString()}
const EndpointTurns = ${EndpointTurns.toString()}
const Epoll = ${Epoll.toString()}
const PipePool = ${PipePool.toString()}
const ${loop.name} = ${loop.toString()}
const now = () => performance.now()
const calls = spliceCalls(require(workerData.koffi))
if (workerData.namespace !== undefined && calls.call.setns(workerData.namespace, ${CLONE_NEWNET}) !== 0)
  throw new Error('setns: errno ' + calls.errno())
new ${loop.name}({
  calls,
  epoll: new Epoll(calls, workerData.eventBytes),
  pipes: new PipePool(calls),
  wakeFd: workerData.wakeFd,
  takeMessage: () => receiveMessageOnPort(parentPort)?.message,
  answer: (answer) => parentPort.postMessage(answer),
  createTurns: (targets) => new EndpointTurns(targets, now),
  now,
}).run()
parentPort.close()
`

const koffiPath = () => createRequire(import.meta.url).resolve('koffi')
const placeOf = ({ namespace }: RelayOptions) => (namespace ? { namespace: namespace.fd } : {})

/** TCP and UDP on Node's own sockets: works wherever Node does. */
export const startNodeRelay = (options: RelayOptions): Relay =>
  new WorkerRelay({
    ...options,
    program: nodeProgram(),
    workerData: { ...placeOf(options), ...(options.namespace && { koffi: koffiPath() }) },
  })

/** By epoll, without Node's event loop. */
function startEpollRelay(options: RelayOptions, loop: typeof SpliceLoop | typeof UdpLoop): Relay {
  const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi
  const libc = koffi.load(null)
  const eventfd = libc.func('int eventfd(unsigned int, int)')
  const write = libc.func('int64_t write(int, void *, size_t)')
  const close = libc.func('int close(int)')
  const wakeFd = Number(eventfd(0, NONBLOCK_CLOEXEC))
  if (wakeFd < 0) throw new Error(`eventfd: errno ${koffi.errno()}`)
  const one = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
  const eventBytes = process.arch === 'x64' ? 12 : 16
  return new WorkerRelay({
    ...options,
    program: epollProgram(loop),
    workerData: { ...placeOf(options), koffi: koffiPath(), wakeFd, eventBytes },
    wake: () => void write(wakeFd, one, one.length),
    ended: () => void close(wakeFd),
  })
}

/** Each protocol by a loop of its own, or all by Node where these cannot work. */
export function startRelay(options: RelayOptions): Relay {
  try {
    return new RelayByProtocol(startEpollRelay(options, SpliceLoop), startEpollRelay(options, UdpLoop))
  } catch (error) {
    options.log.info('the proxy in user space works on sockets of Node', { error })
    return startNodeRelay(options)
  }
}

class RelayByProtocol implements Relay {
  readonly #tcp: Relay
  readonly #udp: Relay

  constructor(tcp: Relay, udp: Relay) {
    this.#tcp = tcp
    this.#udp = udp
  }

  set onFailure(listener: (() => void) | undefined) {
    // One without the other is of no use: both are started anew.
    const failed = () => {
      this.stop()
      listener?.()
    }
    this.#tcp.onFailure = failed
    this.#udp.onFailure = failed
  }

  open(listener: RelayListener): Promise<number> {
    return (listener.protocol === 'TCP' ? this.#tcp : this.#udp).open(listener)
  }

  change(id: string, targets: RelayTargets): void {
    this.#tcp.change(id, targets)
    this.#udp.change(id, targets)
  }

  close(id: string): void {
    this.#tcp.close(id)
    this.#udp.close(id)
  }

  stop(): void {
    this.#tcp.stop()
    this.#udp.stop()
  }
}
