import { watch } from 'node:fs'
import { type FileHandle, lstat } from 'node:fs/promises'
import path from 'node:path'
import { parseTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import { type LogFile, openLog } from './log-files.ts'
import { parseLogLine } from './log-line.ts'

export interface LogOptions {
  readonly follow?: boolean
  readonly tailLines?: number
  readonly limitBytes?: number
  readonly sinceTime?: number
  readonly timestamps?: boolean
  readonly stream?: 'stdout' | 'stderr'
}

export interface LogSource extends LogFile {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Whether more may be written. */
  readonly isOpen: () => Promise<boolean>
}

const CHUNK = 64 * 1024
const POLL = 1000
const NEWLINE = 0x0a

/** What a container wrote, in pieces; with `follow`, until it ends or nobody reads any more. */
export async function* readLog(source: LogSource, options: LogOptions): AsyncIterable<Buffer> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY
  for await (const line of logLines(source, options)) {
    const shown = render(line, options)
    if (!shown) continue
    yield shown.length > left ? shown.subarray(0, left) : shown
    left -= shown.length
    if (left <= 0) return
  }
}

function render(line: Buffer, { timestamps, sinceTime, stream }: LogOptions): Buffer | undefined {
  const parsed = parseLogLine(line)
  if (!parsed || (stream !== undefined && parsed.stream !== stream)) return undefined
  if (sinceTime !== undefined && (parseTime(parsed.time) ?? 0) < sinceTime) return undefined
  const end = parsed.isPartial ? [] : [Buffer.from('\n')]
  const begin = timestamps ? [Buffer.from(`${parsed.time} `)] : []
  return Buffer.concat([...begin, parsed.text, ...end])
}

/** Lines as they are in the file; after a rotation they go on in the new one. */
async function* logLines(source: LogSource, options: LogOptions): AsyncIterable<Buffer> {
  let handle = await opened(source)
  if (!handle) return
  try {
    let position = await startOf(handle, options.tailLines)
    let rest = Buffer.alloc(0)
    for (;;) {
      const wasOpen = options.follow === true && (await source.isOpen())
      for (;;) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position)
        if (bytesRead === 0) break
        position += bytesRead
        const lines = split(Buffer.concat([rest, buffer.subarray(0, bytesRead)]))
        rest = lines.rest
        yield* lines.complete
      }
      if (source.signal.aborted) return
      if (await wasRotated(source.file, handle)) {
        await handle.close()
        handle = await opened(source)
        if (!handle) return
        position = 0
        continue
      }
      // What was written between the last read and the end was read in this round.
      if (!wasOpen) return
      await moreWritten(source)
    }
  } finally {
    await handle?.close()
  }
}

const opened = (log: LogFile): Promise<FileHandle | undefined> => openLog(log).catch(() => undefined)

function split(data: Buffer): { complete: Buffer[]; rest: Buffer<ArrayBuffer> } {
  const complete: Buffer[] = []
  let from = 0
  for (let at = data.indexOf(NEWLINE); at >= 0; at = data.indexOf(NEWLINE, from)) {
    complete.push(data.subarray(from, at))
    from = at + 1
  }
  return { complete, rest: Buffer.from(data.subarray(from)) }
}

/** Where the last so many lines begin. */
async function startOf(handle: FileHandle, tailLines: number | undefined): Promise<number> {
  if (tailLines === undefined || tailLines < 0) return 0
  const { size } = await handle.stat()
  if (tailLines === 0) return size
  let found = 0
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - CHUNK)
    const { buffer } = await handle.read(Buffer.alloc(end - begin), 0, end - begin, begin)
    for (let i = buffer.length - 1; i >= 0; i--) {
      // The newline at the very end closes the last line.
      if (buffer[i] !== NEWLINE || begin + i === size - 1) continue
      if (++found === tailLines) return begin + i + 1
    }
    end = begin
  }
  return 0
}

async function wasRotated(file: string, handle: FileHandle): Promise<boolean> {
  const [now, own] = await Promise.all([lstat(file).catch(() => undefined), handle.stat()])
  return now !== undefined && now.ino !== own.ino
}

/** The file system tells at once; where it does not, a second later is soon enough. */
async function moreWritten({ file, clock, signal }: LogSource): Promise<void> {
  const wait = new AbortController()
  const end = () => wait.abort()
  signal.addEventListener('abort', end, { once: true })
  const watcher = watch(path.dirname(file), { persistent: false }, end)
  watcher.on('error', () => {})
  await clock.sleep(POLL, wait.signal).catch(() => {})
  watcher.close()
  signal.removeEventListener('abort', end)
}
