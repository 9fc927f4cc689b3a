import { type ClientHttp2Session, connect } from 'node:http2'
import type { LoadJob, LoadResult } from './load-job.ts'
import { cpuMicroseconds, pause, percentile } from './measure.ts'
import { WatchConnection, type WatchListener } from './watch-connection.ts'

type WatchJob = Extract<LoadJob, { kind: 'watch' }>

const NEWLINE = 10
const SENT = /"sent":"([\d.]+)"/g

/** Many watchers of one resource in this process, and one writer that puts the time into what it writes. */
export async function watchLoad(job: WatchJob): Promise<LoadResult> {
  const tally = new Tally()
  const connections = await openWatches(job, tally)
  const writer = connect(job.server, job.credentials ?? {})
  const writes = job.writesPerSecond * job.seconds
  const cpuSoFar = () => ({ server: cpuMicroseconds(job.serverPid), client: cpuMicroseconds(process.pid) })
  const before = cpuSoFar()
  const started = performance.now()
  for (let i = 0; i < writes; i++) {
    const due = started + (i * 1000) / job.writesPerSecond
    if (due > performance.now()) await pause(due - performance.now())
    write(writer, job.target, job.size)
  }
  for (let waited = 0; tally.deliveries < writes * job.watchers && waited < 20_000; waited += 50) await pause(50)
  const seconds = (performance.now() - started) / 1000
  const after = cpuSoFar()
  for (const connection of connections) connection.close()
  writer.destroy()
  const sorted = Float64Array.from(tally.latencies).sort()
  return {
    operations: tally.deliveries,
    seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    bytes: tally.bytes,
    cpu: { server: after.server - before.server, client: after.client - before.client },
  }
}

/** Counts what all watchers get, and times what the first of each connection gets. */
class Tally {
  deliveries = 0
  bytes = 0
  readonly latencies: number[] = []

  count(buffer: Buffer, from: number, to: number): void {
    this.bytes += to - from
    for (let at = buffer.indexOf(NEWLINE, from); at >= 0 && at < to; at = buffer.indexOf(NEWLINE, at + 1))
      this.deliveries++
  }

  /** Every event carries the moment it was written; latin1 costs no decoding. Returns what belongs to the next one. */
  time(text: string): string {
    const end = text.lastIndexOf('\n') + 1
    if (end === 0) return text
    const now = performance.now()
    for (const match of text.slice(0, end).matchAll(SENT)) this.latencies.push(now - Number(match[1]))
    return text.slice(end)
  }
}

async function openWatches(job: WatchJob, tally: Tally): Promise<WatchConnection[]> {
  const connections: WatchConnection[] = []
  for (let watches = 0; watches < job.watchers; watches += job.perConnection) {
    const here = Math.min(job.perConnection, job.watchers - watches)
    connections.push(await openConnection(job, here, tally))
  }
  return connections
}

function openConnection(job: WatchJob, watches: number, tally: Tally): Promise<WatchConnection> {
  let begun = ''
  return new Promise((resolve, reject) => {
    const listener: WatchListener = {
      onOpen: () => resolve(connection),
      onData(watch, buffer, from, to) {
        tally.count(buffer, from, to)
        if (watch === 0) begun = tally.time(begun + buffer.toString('latin1', from, to))
      },
      onFailure: (reason) => reject(new Error(reason)),
    }
    const connection = new WatchConnection(job.server, job.credentials, job.path, watches, listener)
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
