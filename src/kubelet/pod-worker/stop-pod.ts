import type { Container, Pod } from '../../api/generated/core-v1.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'
import { containerName, type RuntimeContainer, type RuntimePod, readySandbox } from '../pod/runtime-pod.ts'
import { killContainer } from './kill-container.ts'
import type { WorkerContext } from './worker-context.ts'

/** Stops everything of a pod, in order: sidecars after the containers they serve, the last started first. */
export class PodStop {
  readonly #context: WorkerContext
  #graceSeconds = Number.POSITIVE_INFINITY
  #deadline = Number.POSITIVE_INFINITY
  #hurry = new AbortController()
  #running: readonly RuntimeContainer[] = []

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Says how long it may take; while it is being stopped, only less counts. */
  limit(graceSeconds: number): void {
    const until = this.#context.clock.now() + graceSeconds * 1000
    if (graceSeconds >= this.#graceSeconds || until >= this.#deadline) return
    const isFirst = this.#graceSeconds === Number.POSITIVE_INFINITY
    this.#graceSeconds = graceSeconds
    this.#deadline = until
    if (isFirst) return
    if (!this.#hurry.signal.aborted) {
      this.#hurry.abort()
      return
    }
    for (const { id } of this.#running) this.#context.runtime.stopContainer(id, graceSeconds).catch(() => {})
  }

  async run(pod: Pod, runtime: RuntimePod): Promise<void> {
    const running = runtime.containers.filter(({ state }) => state === 'RUNNING')
    const podIP = readySandbox(runtime)?.ips[0] ?? this.#context.hostIPs()[0] ?? ''
    const order = new StopOrder(pod, running)
    this.#running = running
    const left = () => Math.max(0, Math.ceil((this.#deadline - this.#context.clock.now()) / 1000))
    const graceSeconds = left()
    this.#hurry = new AbortController()
    const { signal } = this.#hurry
    await Promise.all(
      running.map(async (status) => {
        const name = containerName(status)
        try {
          const container = containerNamed(pod, name)
          const waitForTurn = order.waits(name)
          await killContainer(this.#context, {
            pod,
            container,
            status,
            podIP,
            graceSeconds,
            ...(waitForTurn && { waitForTurn }),
            hurry: { signal, graceSeconds: left },
          })
        } finally {
          order.ended(name)
        }
      }),
    )
    for (const { id, state } of runtime.sandboxes) if (state === 'READY') await this.#context.runtime.stopPodSandbox(id)
  }
}

export function containerNamed({ spec }: Pod, name: string): Container | undefined {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])]
  return all.find((container) => container.name === name) as Container | undefined
}

/** Who waits for whom. */
class StopOrder {
  readonly #before = new Map<string, readonly string[]>()
  readonly #ends = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>()

  constructor({ spec }: Pod, running: readonly RuntimeContainer[]) {
    const names = running.map(containerName)
    for (const name of names) {
      let resolve = () => {}
      const promise = new Promise<void>((done) => {
        resolve = done
      })
      this.#ends.set(name, { promise, resolve })
    }
    const sidecars = (spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name)
    const others = names.filter((name) => !sidecars.includes(name))
    sidecars.forEach((name, i) => {
      this.#before.set(
        name,
        [...others, ...sidecars.slice(i + 1)].filter((one) => names.includes(one)),
      )
    })
  }

  waits(name: string): ((signal: AbortSignal) => Promise<void>) | undefined {
    const before = this.#before.get(name)
    if (!before?.length) return undefined
    return async (signal) => {
      const all = Promise.all(before.map((one) => this.#ends.get(one)?.promise))
      const late = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([all, late])
    }
  }

  ended(name: string): void {
    this.#ends.get(name)?.resolve()
  }
}
