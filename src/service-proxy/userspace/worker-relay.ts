import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { type Clock, systemClock, type Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import { NodeRelay } from './node-relay.ts'
import type { Relay, RelayAnswer, RelayListener, RelayMessage, RelayTargets } from './relay.ts'

export interface WorkerRelayOptions {
  readonly namespace?: NetworkNamespace
  readonly clock: Clock
  readonly log: Logger
}

const CLONE_NEWNET = 0x40000000
const SWEEP_MS = 1000

/**
 * The worker as text: the same from sources, from a bundle and in tests, where a worker could not load TypeScript. Its
 * thread enters the node's namespace for ever, so that every socket it makes is there.
 */
const workerProgram = () => `
'use strict'
const { parentPort, workerData } = require('node:worker_threads')
const NodeRelay = ${NodeRelay.toString()}
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
  now: () => performance.now(),
})
parentPort.on('message', (message) => {
  relay.handle(message)
  if (message.op === 'stop') parentPort.close()
})
`

/** In a worker: a busy proxy never delays the rest of the node, nor the rest the proxy. */
export class WorkerRelay implements Relay {
  onFailure: (() => void) | undefined
  readonly #worker: Worker
  readonly #clock: Clock
  readonly #opening = new Map<string, { resolve(port: number): void; reject(error: Error): void }>()
  #timer: Timer | undefined
  #isStopped = false

  constructor({ namespace, clock, log }: WorkerRelayOptions) {
    this.#clock = clock
    const workerData = namespace && {
      namespace: namespace.fd,
      koffi: createRequire(import.meta.url).resolve('koffi'),
    }
    this.#worker = new Worker(workerProgram(), {
      ...{ eval: true, execArgv: [], name: 'service-proxy' },
      workerData: workerData ?? {},
    })
    this.#worker.on('message', (answer: RelayAnswer) => this.#answered(answer))
    this.#worker.on('error', (error) => log.error('the proxy in user space failed', { error }))
    this.#worker.on('exit', () => this.#ended())
    this.#sweepLater()
  }

  open(listener: RelayListener): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#opening.set(listener.id, { resolve, reject })
      // Only while something is awaited does the thread keep the process.
      this.#worker.ref()
      this.#tell({ op: 'open', listener })
    })
  }

  change(id: string, { endpoints, affinityMs }: RelayTargets): void {
    this.#tell({ op: 'change', id, targets: { endpoints, affinityMs } })
  }

  close(id: string): void {
    this.#tell({ op: 'close', id })
  }

  /** The thread goes on until its last connection has ended, or the process does. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#tell({ op: 'stop' })
    this.#worker.unref()
  }

  #tell(message: RelayMessage): void {
    this.#worker.postMessage(message)
  }

  #answered(answer: RelayAnswer): void {
    const waiting = this.#opening.get(answer.id)
    this.#opening.delete(answer.id)
    if (this.#opening.size === 0) this.#worker.unref()
    if ('port' in answer) waiting?.resolve(answer.port)
    else waiting?.reject(new Error(`the proxy cannot listen for ${answer.id}: ${answer.failure}`))
  }

  #ended(): void {
    this.#timer?.cancel()
    for (const { reject } of this.#opening.values()) reject(new Error('the proxy in user space has ended'))
    this.#opening.clear()
    if (!this.#isStopped) this.onFailure?.()
    this.#isStopped = true
  }

  #sweepLater(): void {
    this.#timer = this.#clock
      .after(SWEEP_MS, () => {
        this.#tell({ op: 'sweep' })
        this.#sweepLater()
      })
      .unref()
  }
}
