import type { ClientHttp2Stream } from 'node:http2'
import type { Json } from './json.ts'

export interface WatchEvent {
  type: string
  object: Json
}

/** A watch as a test reads it: one event after the other, each awaited with a limit. */
export interface EventStream {
  readonly status: number
  /** The next event; throws when none comes in time. Undefined when the server ended the watch. */
  next(within?: number): Promise<WatchEvent | undefined>
  /** Reads until one event satisfies the test; returns all events read. */
  until(found: (event: WatchEvent) => boolean, within?: number): Promise<WatchEvent[]>
  close(): void
}

export async function eventStream(stream: ClientHttp2Stream): Promise<EventStream> {
  const events: WatchEvent[] = []
  let ended = false
  let wake = () => {}
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() as string
    for (const line of lines) events.push(JSON.parse(line) as WatchEvent)
    wake()
  })
  const end = () => {
    ended = true
    wake()
  }
  stream.on('close', end)
  stream.on('end', end)
  const status = await new Promise<number>((resolve, reject) => {
    stream.on('response', (headers) => resolve(Number(headers[':status'])))
    stream.on('error', reject)
  })
  const next = async (within = 10_000) => {
    const deadline = Date.now() + within
    while (events.length === 0 && !ended) {
      const left = deadline - Date.now()
      if (left <= 0) throw new Error(`no watch event within ${within} ms`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return events.shift()
  }
  return {
    status,
    next,
    async until(found, within) {
      const seen: WatchEvent[] = []
      for (;;) {
        const event = await next(within)
        if (!event) throw new Error(`the watch ended after ${seen.length} events`)
        seen.push(event)
        if (found(event)) return seen
      }
    },
    close: () => stream.close(),
  }
}
