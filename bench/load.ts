import { type ClientHttp2Session, connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import type { LoadJob, LoadResult } from './load-job.ts'
import { percentile } from './measure.ts'
import { watchLoad } from './watch-load.ts'

/** A load process: one job on standard input, one result on standard output. */

const job = JSON.parse(await text(process.stdin)) as LoadJob

/** Windows of Go's client, which kubectl and most controllers are; Node's own are a sixtieth of that. */
const GO_STREAM_WINDOW = 4 << 20
const GO_CONNECTION_WINDOW = 1 << 30

interface Request {
  headers: Record<string, string>
  body?: Buffer
}

/** One request in flight per client, each client with its own connection, until all is done. */
async function runClients(
  count: number,
  request: (index: number) => Request,
  check: (status: string) => boolean,
): Promise<LoadResult> {
  const latencies = new Float64Array(count)
  let next = 0
  let bytes = 0
  const settings = { initialWindowSize: GO_STREAM_WINDOW }
  const sessions = Array.from({ length: job.clients }, () => connect(job.server, { ...job.credentials, settings }))
  for (const session of sessions) session.once('connect', () => session.setLocalWindowSize(GO_CONNECTION_WINDOW))
  await Promise.all(sessions.map((session) => new Promise<void>((resolve) => session.once('connect', () => resolve()))))
  const started = performance.now()
  const client = async (session: ClientHttp2Session) => {
    while (next < count) {
      const index = next++
      const sent = performance.now()
      bytes += await roundTrip(session, request(index), check)
      latencies[index] = performance.now() - sent
    }
    session.close()
  }
  await Promise.all(sessions.map(client))
  const seconds = (performance.now() - started) / 1000
  latencies.sort()
  return { operations: count, seconds, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), bytes }
}

function roundTrip(session: ClientHttp2Session, request: Request, check: (status: string) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request(request.headers)
    let bytes = 0
    stream.on('response', (headers) => {
      if (!check(String(headers[':status'])))
        reject(new Error(`${request.headers[':path']} answered ${headers[':status']}`))
    })
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    stream.on('end', () => resolve(bytes))
    stream.on('error', reject)
    stream.end(request.body)
  })
}

/** A ConfigMap whose JSON is about `size` bytes. */
const configMap = (index: number, size: number) =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `load-${index}`, labels: { app: 'load' } },
      data: { value: 'x'.repeat(Math.max(1, size - 400)) },
    }),
  )

/** etcdserverpb.PutRequest in a gRPC frame: key is field 1, value field 2. */
function putRequest(index: number, size: number): Buffer {
  const key = Buffer.from(`/registry/configmaps/default/load-${index}`)
  const value = Buffer.alloc(size, 'x')
  const message = Buffer.concat([
    Buffer.from([0x0a, key.length]),
    key,
    Buffer.from([0x12]),
    varint(value.length),
    value,
  ])
  const frame = Buffer.alloc(5)
  frame.writeUInt32BE(message.length, 1)
  return Buffer.concat([frame, message])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return Buffer.from([...bytes, rest])
    bytes.push((rest & 0x7f) | 0x80)
  }
}

async function run(): Promise<LoadResult> {
  switch (job.kind) {
    case 'create': {
      const headers = {
        ':method': 'POST',
        ':path': job.path,
        'content-type': 'application/json',
        accept: 'application/json',
      }
      const { from, size } = job
      return runClients(
        job.count,
        (index) => ({ headers, body: configMap(from + index, size) }),
        (status) => status === '201',
      )
    }
    case 'get': {
      const { paths } = job
      const headers = paths.map((path) => ({ ':method': 'GET', ':path': path, accept: 'application/json' }))
      return runClients(
        job.count,
        (index) => ({ headers: headers[index % headers.length] as Record<string, string> }),
        (status) => status === '200',
      )
    }
    case 'etcd-put': {
      const headers = {
        ':method': 'POST',
        ':path': '/etcdserverpb.KV/Put',
        'content-type': 'application/grpc',
        te: 'trailers',
      }
      const { from, size } = job
      return runClients(
        job.count,
        (index) => ({ headers, body: putRequest(from + index, size) }),
        (status) => status === '200',
      )
    }
    case 'watch':
      return watchLoad(job)
  }
}

process.stdout.write(JSON.stringify(await run()), () => process.exit(0))
