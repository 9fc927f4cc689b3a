import type { ContainerEvent } from '../runtime.ts'

/** Hands each event to every reader, in order. */
export class EventFeed {
  readonly #readers = new Set<(event: ContainerEvent) => void>()

  publish(event: ContainerEvent): void {
    for (const reader of this.#readers) reader(event)
  }

  /** Listens from the call on, not from the first `next`. */
  events(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    const waiting: ContainerEvent[] = []
    let wake: (() => void) | undefined
    const reader = (event: ContainerEvent) => {
      waiting.push(event)
      wake?.()
    }
    const stop = () => {
      this.#readers.delete(reader)
      wake?.()
    }
    this.#readers.add(reader)
    signal.addEventListener('abort', stop, { once: true })
    return (async function* () {
      try {
        while (!signal.aborted) {
          for (let event = waiting.shift(); event; event = waiting.shift()) yield event
          if (signal.aborted) return
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      } finally {
        signal.removeEventListener('abort', stop)
        stop()
      }
    })()
  }
}
