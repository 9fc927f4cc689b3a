import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/base/random.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'
import { readOperations } from './document.ts'
import { type FuzzRequest, fuzzRequest } from './requests.ts'

/**
 * Requests made from the OpenAPI document the server publishes, right and wrong. Whatever comes: no 500, no hang, no
 * crash, bounded memory, and every refusal is a Status. FUZZ_SEED repeats a run, FUZZ_REQUESTS changes its length.
 */

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 20_000)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const CLIENTS = 16
/** Far beyond what any request takes: this is about hanging, not about speed. */
const PATIENCE = 60_000

const server = useCluster('fuzz', { store: 'memory' })

interface Outcome {
  status: number
  body: Buffer
}

function send(session: ClientHttp2Session, request: FuzzRequest): Promise<Outcome | 'aborted' | 'hung'> {
  return new Promise((resolve, reject) => {
    const stream = session.request(
      { ':method': request.method, ':path': request.path, ...request.headers },
      { endStream: request.body === undefined },
    )
    const chunks: Buffer[] = []
    let status = 0
    const timer = setTimeout(() => {
      stream.destroy()
      resolve('hung')
    }, PATIENCE)
    const done = (outcome: Outcome | 'aborted') => {
      clearTimeout(timer)
      resolve(outcome)
    }
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () =>
      done(status === 0 && request.abortAfter !== undefined ? 'aborted' : { status, body: Buffer.concat(chunks) }),
    )
    stream.on('error', (error) => {
      clearTimeout(timer)
      if (request.abortAfter !== undefined) resolve('aborted')
      else reject(error)
    })
    stream.on('close', () => {
      if (request.abortAfter !== undefined) return done('aborted')
      clearTimeout(timer)
      reject(new Error(`closed with ${stream.rstCode} before an end`))
    })
    if (request.body === undefined) return
    if (request.abortAfter === undefined) return void stream.end(request.body)
    stream.write(Buffer.from(request.body ?? '').subarray(0, request.abortAfter), () => stream.close(8))
  })
}

const PROXIED = /\/(?:nodes|pods|services)\/[^/]*\/proxy/

/** What is wrong with an answer, if anything. */
function problemOf(request: FuzzRequest, outcome: Outcome | 'aborted' | 'hung'): string | undefined {
  if (outcome === 'aborted') return undefined
  if (outcome === 'hung') return 'no answer'
  const { status, body } = outcome
  if (status >= 200 && status < 400) return undefined
  // A version from the future is waited for, and then the wait timed out: 504, as upstream says it.
  if (status === 504 && body.includes('ResourceVersionTooLarge')) return undefined
  // Proxies lead to pods, services and nodes that are not there: 503 tells so.
  if (status === 503 && PROXIED.test(request.path)) {
    return request.method === 'HEAD' ? undefined : statusProblem(status, body)
  }
  if (status >= 500 || status < 200) return `answered ${status}: ${body.toString().slice(0, 300)}`
  if (request.method === 'HEAD') return undefined
  return statusProblem(status, body)
}

function statusProblem(status: number, body: Buffer): string | undefined {
  const text = body.toString()
  const isYaml = /^(kind|apiVersion|code|details|message|metadata): /m.test(text)
  if (isYaml && !text.startsWith('{')) return undefined
  try {
    const parsed = JSON.parse(text) as { kind?: string; code?: number; reason?: string; message?: string }
    if (parsed.kind === 'Status' && parsed.code === status && parsed.reason && parsed.message) return undefined
  } catch {
    // Told below.
  }
  return `${status} without a proper Status: ${text.slice(0, 300)}`
}

const describeRequest = (request: FuzzRequest) =>
  `${request.method} ${request.path} ${JSON.stringify(request.headers)} ${String(request.body ?? '').slice(0, 600)}`

const residentMegabytes = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)?.[1]) / 1024

test(`${REQUESTS} requests, seed ${SEED}`, { timeout: 600_000 }, async () => {
  const operations = await readOperations(server.api)
  expect(operations.length).toBeGreaterThan(400)
  const random = seededRandom(SEED)
  const pids = server.cluster.pids()
  const problems: string[] = []
  const counts = new Map<number | string, number>()
  let sent = 0
  const client = async () => {
    let session: ClientHttp2Session | undefined
    while (sent < REQUESTS && problems.length < 20) {
      sent++
      if (!session || session.destroyed || session.closed) session = open()
      const request = fuzzRequest(random, operations)
      // Without a ServiceCIDR no Service can be made, which upstream calls an internal error too.
      if (request.method === 'DELETE' && /servicecidrs/i.test(request.path)) continue
      const outcome = await send(session, request).catch((error: Error) => `broke: ${error.message}` as const)
      if (typeof outcome === 'string' && outcome.startsWith('broke')) {
        problems.push(`${describeRequest(request)}\n  ${outcome}`)
        continue
      }
      const problem = problemOf(request, outcome as Outcome)
      if (problem) problems.push(`${describeRequest(request)}\n  ${problem}`)
      const key = typeof outcome === 'string' ? outcome : (outcome as Outcome).status
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    session?.close()
  }
  const open = () => {
    const session = connect(server.api.server, server.api.credentials)
    session.on('error', () => {})
    return session
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  console.log('answers:', Object.fromEntries([...counts].sort()))
  if (problems.length > 0) expect.fail(problems.join('\n'))
  expect(server.cluster.pids()).toEqual(pids)
  expectStatus(await server.api.get('/readyz'), 200)
  const memory = Math.max(...pids.map(residentMegabytes))
  console.log(`server memory after ${sent} requests: ${memory.toFixed(0)} MB`)
  expect(memory).toBeLessThan(600)
  // The run must have come through the door: most of the API was reached and some objects were made.
  expect(counts.get(201) ?? 0).toBeGreaterThan(REQUESTS / 200)
  expect(counts.get(422) ?? 0).toBeGreaterThan(REQUESTS / 200)
})
