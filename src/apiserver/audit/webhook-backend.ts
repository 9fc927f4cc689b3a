import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { callWebhook, type ResolveService } from '../webhook-client/call-webhook.ts'
import type { AuditBackend } from './event.ts'

export interface AuditWebhookOptions {
  readonly url: string
  /** PEM, in base64, of who has to have signed its certificate. */
  readonly caBundle?: string
}

/** kube-apiserver's defaults of the batch mode. */
const MAX_BATCH = 400
const MAX_WAITING = 10_000
const MAX_WAIT_MS = 30_000
const RETRY_MS = 10_000
const ATTEMPTS = 5
const CALL_TIMEOUT_MS = 30_000

/** Posts events to a webhook, many at once. Nobody waits for it; beyond so many that wait, events are lost. */
export class WebhookBackend implements AuditBackend {
  readonly #options: AuditWebhookOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #resolve: ResolveService
  readonly #stop = new AbortController()
  #waiting: string[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #lost = 0

  constructor(options: AuditWebhookOptions, clock: Clock, log: Logger, resolve: ResolveService) {
    this.#options = options
    this.#clock = clock
    this.#log = log
    this.#resolve = resolve
  }

  write(line: string): void {
    if (this.#waiting.length >= MAX_WAITING) {
      if (this.#lost++ === 0) this.#log.error('audit events are lost: the webhook does not keep up', {})
      return
    }
    this.#waiting.push(line)
    if (this.#waiting.length >= MAX_BATCH) this.#send()
    else this.#timer ??= this.#clock.after(MAX_WAIT_MS, () => this.#send()).unref()
  }

  /** What waits is sent once more, without being patient about it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#sending
    while (this.#waiting.length > 0) await this.#post(this.#waiting.splice(0, MAX_BATCH)).catch(() => {})
    this.#timer?.cancel()
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted)
      await this.#deliver(this.#waiting.splice(0, MAX_BATCH))
  }

  async #deliver(batch: readonly string[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#post(batch)
      } catch (error) {
        if (attempt === ATTEMPTS || this.#stop.signal.aborted) {
          this.#log.error('audit events were lost: the webhook does not take them', {
            events: batch.length,
            error: String(error),
          })
          return
        }
        await this.#clock.sleep(RETRY_MS * attempt, this.#stop.signal).catch(() => {})
      }
    }
  }

  async #post(batch: readonly string[]): Promise<void> {
    const items = batch.map((line) => JSON.parse(line) as object)
    const list = { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items }
    try {
      await callWebhook(this.#options, list, this.#resolve, CALL_TIMEOUT_MS)
    } catch (error) {
      // Whatever it says besides success is of no interest.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
}
