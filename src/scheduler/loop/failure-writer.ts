import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Client } from '../../client/client.ts'

export interface Failure {
  readonly reason: 'Unschedulable' | 'SchedulerError'
  readonly message: string
  /** Empty if the pod waits for no node any more. */
  readonly nominatedNode?: string | undefined
}

const MAX_WRITES = 16

/** Writes into pods why they have no node. Only the newest word about a pod is written, and nothing said twice. */
export class FailureWriter {
  readonly #client: Client
  readonly #clock: Clock
  readonly #log: Logger
  readonly #waiting = new Map<string, { pod: Pod; failure: Failure }>()
  readonly #said = new Map<string, string>()
  #writing = 0

  constructor(client: Client, clock: Clock, log: Logger) {
    this.#client = client
    this.#clock = clock
    this.#log = log
  }

  get isBusy(): boolean {
    return this.#writing > 0 || this.#waiting.size > 0
  }

  write(pod: Pod, failure: Failure): void {
    const uid = pod.metadata.uid!
    const text = `${failure.reason}|${failure.message}|${failure.nominatedNode ?? ''}`
    if (this.#said.get(uid) === text || saysAlready(pod, failure)) return
    this.#said.set(uid, text)
    this.#waiting.set(uid, { pod, failure })
    this.#next()
  }

  forget(uid: string): void {
    this.#said.delete(uid)
    this.#waiting.delete(uid)
  }

  #next(): void {
    while (this.#writing < MAX_WRITES) {
      const first = this.#waiting.entries().next().value
      if (!first) return
      this.#waiting.delete(first[0])
      this.#writing++
      void this.#patch(first[1].pod, first[1].failure).finally(() => {
        this.#writing--
        this.#next()
      })
    }
  }

  async #patch(pod: Pod, { reason, message, nominatedNode }: Failure): Promise<void> {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const now = formatTime(this.#clock.now())
    const known = findCondition(pod.status?.conditions, 'PodScheduled')
    const lastTransitionTime = known?.status === 'False' ? known.lastTransitionTime : now
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason,
      message,
      lastProbeTime: null,
      lastTransitionTime,
    }
    const nomination = nominatedNode === undefined ? {} : { nominatedNodeName: nominatedNode || null }
    try {
      await this.#client
        .resource(podKind)
        .namespace(namespace)
        .patch(
          name,
          { metadata: { uid }, status: { conditions: [condition], ...nomination } },
          { subresource: 'status', type: 'application/strategic-merge-patch+json' },
        )
    } catch (error) {
      this.#said.delete(uid)
      const isGone = error instanceof ApiError && (error.code === 404 || error.code === 409)
      if (!isGone)
        this.#log.warn('the status of a pod could not be written', {
          pod: `${namespace}/${name}`,
          error: String(error),
        })
    }
  }
}

function saysAlready({ status }: Pod, { reason, message, nominatedNode }: Failure): boolean {
  const known = findCondition(status?.conditions, 'PodScheduled')
  if (known?.status !== 'False' || known.reason !== reason || known.message !== message) return false
  return nominatedNode === undefined || nominatedNode === (status?.nominatedNodeName ?? '')
}
