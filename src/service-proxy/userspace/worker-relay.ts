import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Relay, RelayAnswer, RelayListener, RelayMessage, RelayTargets } from './relay.ts'

export interface WorkerRelayOptions {
  readonly clock: Clock
  readonly log: Logger
  /** The text of the worker. */
  readonly program: string
  readonly workerData: object
  /** Tells a worker that sleeps in the kernel of a message. */
  readonly wake?: () => void
  readonly ended?: () => void
}

const SWEEP_MS = 1000

/** In a worker: a busy proxy never delays the rest of the node, nor the rest the proxy. */
export class WorkerRelay implements Relay {
  onFailure: (() => void) | undefined
  readonly #options: WorkerRelayOptions
  readonly #worker: Worker
  readonly #opening = new Map<string, { resolve(port: number): void; reject(error: Error): void }>()
  #timer: Timer | undefined
  #isStopped = false
  #hasEnded = false

  constructor(options: WorkerRelayOptions) {
    this.#options = options
    const { program, workerData, log } = options
    this.#worker = new Worker(program, { eval: true, execArgv: [], name: 'service-proxy', workerData })
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
    if (this.#hasEnded) return
    this.#worker.postMessage(message)
    this.#options.wake?.()
  }

  #answered(answer: RelayAnswer): void {
    const waiting = this.#opening.get(answer.id)
    this.#opening.delete(answer.id)
    if (this.#opening.size === 0) this.#worker.unref()
    if ('port' in answer) waiting?.resolve(answer.port)
    else waiting?.reject(new Error(`the proxy cannot listen for ${answer.id}: ${answer.failure}`))
  }

  #ended(): void {
    this.#hasEnded = true
    this.#timer?.cancel()
    this.#options.ended?.()
    for (const { reject } of this.#opening.values()) reject(new Error('the proxy in user space has ended'))
    this.#opening.clear()
    if (!this.#isStopped) this.onFailure?.()
    this.#isStopped = true
  }

  #sweepLater(): void {
    this.#timer = this.#options.clock
      .after(SWEEP_MS, () => {
        this.#tell({ op: 'sweep' })
        this.#sweepLater()
      })
      .unref()
  }
}
