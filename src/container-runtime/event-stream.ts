import type { ContainerEvent } from './runtime.ts'

/** Events to any number of readers. A reader that is slow gets the last one of each container, not every step. */
export class EventStream {
  private readonly readers = new Set<Reader>()

  emit(event: ContainerEvent): void {
    for (const reader of this.readers) reader.push(event)
  }

  /** Whatever is emitted from this call on, even before the first is asked for. */
  read(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    const reader = new Reader()
    this.readers.add(reader)
    signal.addEventListener('abort', () => this.readers.delete(reader), { once: true })
    return this.eventsOf(reader, signal)
  }

  private async *eventsOf(reader: Reader, signal: AbortSignal): AsyncIterable<ContainerEvent> {
    const wake = () => reader.wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        const event = reader.take()
        if (event) yield event
        else await reader.arrival()
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.readers.delete(reader)
    }
  }
}

const PATIENCE = 1000

class Reader {
  private waiting: ContainerEvent[] = []
  private waken: (() => void) | undefined

  push(event: ContainerEvent): void {
    if (this.waiting.length >= PATIENCE) this.waiting = lastOfEach(this.waiting)
    this.waiting.push(event)
    this.wake()
  }

  take(): ContainerEvent | undefined {
    return this.waiting.shift()
  }

  arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.waken = resolve
    })
  }

  wake(): void {
    this.waken?.()
    this.waken = undefined
  }
}

function lastOfEach(events: readonly ContainerEvent[]): ContainerEvent[] {
  const last = new Map<string, ContainerEvent>()
  for (const event of events) {
    last.delete(event.containerId)
    last.set(event.containerId, event)
  }
  return [...last.values()]
}
