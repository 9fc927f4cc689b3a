import { ApiError } from '../api/meta/api-error.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { WorkQueue } from '../base/workqueue.ts'
import type { Controller } from './controller.ts'

export interface ControllerRunner extends AsyncDisposable {
  /** Whether any controller has work waiting or under way; work delayed to a later time does not count. */
  readonly isBusy: boolean
}

/**
 * Runs controllers side by side. Each has its own queue and workers: one that fails or loops is logged and backed off
 * and does not hold up the others.
 */
export async function runControllers(
  controllers: readonly Controller[],
  context: { clock: Clock; log: Logger },
): Promise<ControllerRunner> {
  const running = controllers.map((controller) => new RunningController(controller, context.clock, context.log))
  await Promise.all(running.map((one) => one.start()))
  return {
    get isBusy() {
      return running.some((one) => one.isBusy)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

class RunningController {
  readonly #controller: Controller
  readonly #queue: WorkQueue
  readonly #log: Logger
  #unsubscribe: (() => void)[] = []
  #workers: Promise<void>[] = []
  #working = 0
  #isStopped = false

  constructor(controller: Controller, clock: Clock, log: Logger) {
    this.#controller = controller
    this.#queue = new WorkQueue(clock)
    this.#log = log.child({ controller: controller.name })
  }

  get isBusy(): boolean {
    return this.#working > 0 || this.#queue.length > 0
  }

  async start(): Promise<void> {
    const { watches, workers = 1 } = this.#controller
    this.#unsubscribe = watches.map((watch) => watch.subscribe((key) => this.#queue.add(key)))
    await Promise.all(watches.map((watch) => watch.informer.synced))
    this.#controller.start?.(this.#queue)
    this.#workers = Array.from({ length: workers }, () => this.#work())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#queue.shutDown()
    await Promise.all(this.#workers)
    await this.#controller.stop?.()
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      // After a stop the waiting keys are only drained: whoever starts next finds them again.
      if (!this.#isStopped) await this.#reconcile(key)
      this.#queue.done(key)
    }
  }

  async #reconcile(key: string): Promise<void> {
    this.#working++
    try {
      const result = await this.#controller.reconcile(key)
      this.#queue.forget(key)
      if (result?.retryAfter !== undefined) this.#queue.addAfter(key, result.retryAfter)
    } catch (error) {
      this.#report(key, error)
      this.#queue.addRateLimited(key)
    } finally {
      this.#working--
    }
  }

  /** Losing a race is daily business; anything else somebody may want to know. */
  #report(key: string, error: unknown): void {
    const isRace = error instanceof ApiError && (error.code === 409 || error.code === 404)
    const fields = {
      key,
      error: error instanceof ApiError ? error.message : ((error as Error)?.stack ?? String(error)),
    }
    if (isRace) this.#log.debug('reconcile lost a race; trying again', fields)
    else this.#log.warn('reconcile failed; trying again', fields)
  }
}
