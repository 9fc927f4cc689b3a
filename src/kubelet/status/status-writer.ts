import type { Pod, PodStatus } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Logger } from '../../base/log.ts'
import type { Client } from '../../client/client.ts'
import { statusPatch } from './status-patch.ts'

export interface StatusWriterOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

const RETRY_PAUSE = 1000

/** Writes the status of one pod: one write at a time, of the newest, and only what changed. */
export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #stop = new AbortController()
  #seen: Pod | undefined
  #wanted: PodStatus | undefined
  #sent: PodStatus | undefined
  /** What the API made of what was sent last. */
  #answer: Pod | undefined
  #writing: Promise<void> | undefined

  constructor(options: StatusWriterOptions) {
    this.#options = options
  }

  /** The pod as the API has it now. */
  see(pod: Pod): void {
    this.#seen = pod
  }

  write(status: PodStatus): void {
    this.#wanted = status
    this.#writing ??= this.#work().finally(() => {
      this.#writing = undefined
    })
  }

  /** Resolves when the newest status is written, or cannot be because the pod is gone. */
  async written(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  stop(): void {
    this.#stop.abort()
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stop
    // Changes of one moment are one write.
    await Promise.resolve()
    while (this.#wanted && !signal.aborted) {
      const status = this.#wanted
      this.#wanted = undefined
      try {
        await this.#patch(status)
      } catch (error) {
        // The pod is gone, or another one has its name.
        if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return
        log.debug('a pod status could not be written', { error: String(error) })
        this.#wanted ??= status
        await clock.sleep(RETRY_PAUSE, signal).catch(() => {})
      }
    }
  }

  async #patch(status: PodStatus): Promise<void> {
    const base = newer(this.#seen, this.#answer)
    if (!base) return
    if (base === this.#answer && deepEqual(status, this.#sent)) return
    const patch = statusPatch(base.status ?? {}, status)
    if (!patch) return
    const { namespace = '', name = '', uid } = base.metadata
    this.#answer = await this.#options.client
      .resource(podKind)
      .namespace(namespace)
      .patch(
        name,
        { metadata: { uid }, status: patch },
        { subresource: 'status', type: 'application/strategic-merge-patch+json' },
      )
    this.#sent = status
  }
}

function newer(a: Pod | undefined, b: Pod | undefined): Pod | undefined {
  if (!a || !b) return a ?? b
  return Number(a.metadata.resourceVersion) > Number(b.metadata.resourceVersion) ? a : b
}
