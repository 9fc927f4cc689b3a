import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import type { LoadJob, LoadResult } from './load-job.ts'
import { pause, percentile } from './measure.ts'

type WatchJob = Extract<LoadJob, { kind: 'watch' }>

/** Streams of one connection, so that a thousand watchers do not cost a thousand handshakes. */
const STREAMS_PER_CONNECTION = 20
const NEWLINE = 10
/** One of so many watchers is timed; the client must not be slower than the server it measures. */
const SAMPLE = 20
const SENT = /"sent":"([\d.]+)"/g

/** Many watchers of one resource in this process, and one writer that puts the time into what it writes. */
export async function watchLoad(job: WatchJob): Promise<LoadResult> {
  const open = () => connect(job.server, job.credentials ?? {})
  const sessions = Array.from({ length: Math.ceil(job.watchers / STREAMS_PER_CONNECTION) }, open)
  const latencies: number[] = []
  let deliveries = 0
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) deliveries++
  }
  const measure = (chunk: Buffer) => {
    count(chunk)
    const now = performance.now()
    // Every event carries the moment it was written; latin1 costs no decoding.
    for (const match of chunk.toString('latin1').matchAll(SENT)) latencies.push(now - Number(match[1]))
  }
  const streams = await Promise.all(
    Array.from({ length: job.watchers }, (_, index) =>
      startWatch(
        sessions[index % sessions.length] as ClientHttp2Session,
        job.path,
        index % SAMPLE === 0 ? measure : count,
      ),
    ),
  )
  const writer = open()
  const writes = job.writesPerSecond * job.seconds
  const started = performance.now()
  for (let i = 0; i < writes; i++) {
    const due = started + (i * 1000) / job.writesPerSecond
    if (due > performance.now()) await pause(due - performance.now())
    write(writer, job.target, job.size)
  }
  for (let waited = 0; deliveries < writes * job.watchers && waited < 20_000; waited += 50) await pause(50)
  const seconds = (performance.now() - started) / 1000
  for (const stream of streams) stream.close()
  for (const session of [...sessions, writer]) session.destroy()
  const sorted = Float64Array.from(latencies).sort()
  return { operations: deliveries, seconds, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), bytes }
}

function startWatch(
  session: ClientHttp2Session,
  path: string,
  onData: (chunk: Buffer) => void,
): Promise<ClientHttp2Stream> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'GET', ':path': path, accept: 'application/json' })
    stream.on('response', () => resolve(stream))
    stream.on('data', onData)
    stream.on('error', reject)
  })
}

function write(session: ClientHttp2Session, target: string, size: number): void {
  const stream = session.request({
    ':method': 'PATCH',
    ':path': target,
    'content-type': 'application/merge-patch+json',
  })
  stream.resume()
  stream.on('error', () => {})
  stream.end(JSON.stringify({ data: { sent: String(performance.now()), value: 'x'.repeat(Math.max(1, size - 450)) } }))
}
