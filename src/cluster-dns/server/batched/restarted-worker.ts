import { Worker } from 'node:worker_threads'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { type LoopData, SHARED, type SlowQuery, type TableChange } from './worker-messages.ts'
import { workerProgram } from './worker-program.ts'

/** Not at once: something may be wrong for long. */
const RESTART_MILLISECONDS = 1000

export interface WorkerContext {
  readonly clock: Clock
  readonly log: Logger
}

/** The worker of a socket; another takes its place should it fail, and learns the answers anew as they are asked for. */
export class RestartedWorker {
  readonly #data: LoopData
  readonly #clock: Clock
  readonly #log: Logger
  readonly #onSlow: (slow: readonly SlowQuery[]) => void
  readonly #numbers: Int32Array
  #worker: Worker | undefined
  #ended: Promise<void> = Promise.resolve()
  #hasRun = false

  constructor(data: LoopData, { clock, log }: WorkerContext, onSlow: (slow: readonly SlowQuery[]) => void) {
    this.#data = data
    this.#clock = clock
    this.#log = log
    this.#onSlow = onSlow
    this.#numbers = new Int32Array(data.shared, 0, SHARED.numbers)
  }

  /** Rejects if the first worker cannot run; none is tried after it then. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(workerProgram(), { eval: true, workerData: this.#data, execArgv: [], name: 'dns' })
      let isReady = false
      this.#worker = worker
      worker.on('message', (message: 'ready' | readonly SlowQuery[]) => {
        if (message !== 'ready') {
          this.#onSlow(message)
          return
        }
        isReady = true
        this.#hasRun = true
        worker.unref()
        resolve()
      })
      let failure = new Error('the DNS worker ended')
      worker.on('error', (error) => {
        failure = error
      })
      this.#ended = new Promise((done) => {
        // Decided here, not at the error: that may overtake what the worker said before it, the exit does not.
        worker.once('exit', () => {
          if (isReady && !this.#isStopping) this.#log.error('the DNS worker failed', { error: failure })
          if (this.#hasRun && !this.#isStopping) this.#restart()
          reject(failure)
          done()
        })
      })
    })
  }

  post(change: TableChange): void {
    this.#worker?.postMessage(change)
  }

  ended(): Promise<void> {
    return this.#ended
  }

  get #isStopping(): boolean {
    return Atomics.load(this.#numbers, SHARED.stop) !== 0
  }

  #restart(): void {
    // What waited in the old one is lost, and clients ask again.
    Atomics.store(this.#numbers, SHARED.waiting, 0)
    this.#clock
      .after(RESTART_MILLISECONDS, () => {
        if (this.#isStopping) return
        this.start().catch((error) => this.#log.error('the DNS worker does not start again', { error }))
      })
      .unref()
  }
}
