import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import { systemClock } from '../base/clock.ts'
import { createClient } from './client.ts'
import { FakeApi } from './fake/fake-api.ts'
import { type FakeHttpServer, startFakeHttpServer } from './fake/fake-http-server.ts'
import { createHttpTransport, type HttpTransport } from './http-transport.ts'
import { transportContract } from './transport.contract.ts'

const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
let pair: { cert: string; key: string }

beforeAll(() => {
  const dir = mkdtempSync(join(tmpdir(), 'sampan-http-'))
  const [cert, key] = [join(dir, 'cert'), join(dir, 'key')]
  const subject = ['-subj', '/CN=fake', '-addext', 'subjectAltName=IP:127.0.0.1']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync(
    'openssl',
    ['req', '-x509', ...curve, '-nodes', '-keyout', key, '-out', cert, '-days', '2', ...subject],
    {
      stdio: 'ignore',
    },
  )
  pair = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  rmSync(dir, { recursive: true })
})

async function setUp(options: { http1?: boolean; maxConcurrentStreams?: number; timeout?: number } = {}) {
  const api = new FakeApi()
  const server = await startFakeHttpServer(api, { ...pair, ...options })
  const { timeout } = options
  const transport = createHttpTransport({
    server: server.url,
    ca: pair.cert,
    clock: systemClock,
    ...(timeout && { timeout }),
  })
  return {
    api,
    server,
    transport,
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

transportContract('fake', async () => ({ transport: new FakeApi(), async [Symbol.asyncDispose]() {} }))
transportContract('HTTP/2', () => setUp())
transportContract('HTTP/1.1', () => setUp({ http1: true }))

describe('connections', () => {
  let api: FakeApi
  let server: FakeHttpServer
  let transport: HttpTransport
  const stop: (() => Promise<void>)[] = []
  const start = async (options = {}) => {
    const subject = await setUp(options)
    stop.push(() => subject[Symbol.asyncDispose]())
    ;({ api, server, transport } = subject)
    return createClient(transport).resource(CONFIG_MAPS).namespace('default')
  }
  afterEach(async () => {
    for (const one of stop.splice(0)) await one()
  })

  test('one session carries many calls', async () => {
    const maps = await start()
    let sessions = 0
    server.http.on('session', () => sessions++)
    await Promise.all(Array.from({ length: 20 }, () => maps.list()))
    expect(sessions).toBe(1)
  })

  test('watches beyond the stream limit of a session open another', async () => {
    const maps = await start({ maxConcurrentStreams: 3 })
    await maps.list()
    const signal = new AbortController()
    const watches = Array.from({ length: 7 }, () =>
      maps.watch({ signal: signal.signal, resourceVersion: '1' })[Symbol.asyncIterator](),
    )
    const first = watches.map((watch) => watch.next())
    await maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    for (const answer of await Promise.all(first)) expect(answer.value[0].object.metadata.name).toBe('a')
    signal.abort()
    await Promise.all(watches.map((watch) => watch.next()))
  })

  test.each([false, true])('after the connection was cut the next call reconnects (http1: %s)', async (http1) => {
    const maps = await start({ http1 })
    await maps.list()
    const watch = maps.watch({ signal: new AbortController().signal, resourceVersion: '1' })[Symbol.asyncIterator]()
    const next = watch.next()
    await maps.list()
    await new Promise((resolve) => setTimeout(resolve, 20))
    server.cut()
    await expect(next).rejects.toMatchObject({ code: 503, reason: 'ServiceUnavailable' })
    await expect.poll(() => maps.list()).toBeDefined()
  })

  test('GOAWAY lets open watches finish and moves new calls to a new session', async () => {
    const maps = await start()
    const sessions: { goaway(): void }[] = []
    server.http.on('session', (session) => sessions.push(session))
    const signal = new AbortController()
    const watch = maps.watch({ signal: signal.signal, resourceVersion: '1' })[Symbol.asyncIterator]()
    const first = watch.next()
    await maps.list()
    sessions[0]!.goaway()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } })
    expect(sessions).toHaveLength(2)
    expect((await first).value[0].object.metadata.name).toBe('late')
    signal.abort()
  })

  test('nobody listens: an ApiError that names the server', async () => {
    await start()
    const lost = createHttpTransport({ server: 'https://127.0.0.1:1', clock: systemClock })
    await expect(lost.raw({ path: '/version' })).rejects.toThrow('https://127.0.0.1:1 cannot be reached: ')
  })

  test('nobody waits for a server that never ends the handshake once they are stopped', async () => {
    const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const waiting = createHttpTransport({ server: url, clock: systemClock })
    const stopped = new AbortController()
    const watch = waiting.watch({ resource: CONFIG_MAPS, signal: stopped.signal })[Symbol.asyncIterator]()
    const [next, asked] = [watch.next(), waiting.raw({ path: '/version' })]
    await once(silent, 'connection')
    stopped.abort()
    expect((await next).done).toBe(true)
    const refused = expect(asked).rejects.toMatchObject({ code: 503 })
    await waiting[Symbol.asyncDispose]()
    await refused
    // The connection is gone with it, or this would wait for ever.
    await new Promise((resolve) => silent.close(resolve))
  })

  test('a server that is not trusted is refused', async () => {
    await start()
    const wary = createHttpTransport({ server: server.url, clock: systemClock })
    await expect(wary.raw({ path: '/version' })).rejects.toMatchObject({ code: 503 })
  })

  test('a call that takes too long is a Timeout', async () => {
    const maps = await start({ timeout: 50 })
    api.call = () => new Promise(() => {})
    await expect(maps.list()).rejects.toMatchObject({ code: 504, reason: 'Timeout' })
  })

  test('Retry-After is obeyed; text that is no Status becomes one', async () => {
    const maps = await start()
    server.scripted.push({ status: 429, headers: { 'retry-after': '1' }, body: 'later' })
    expect(await maps.list()).toBeDefined()
    server.scripted.push({ status: 502, body: 'bad gateway' })
    const failure = await maps.list().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({ code: 502, message: 'bad gateway' })
  })

  test('an ERROR event ends a watch with its Status, after the events before it', async () => {
    const maps = await start()
    const event = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 410,
      reason: 'Expired',
      message: 'too old',
    }
    server.scripted.push({ status: 200, body: event('ADDED', { metadata: { name: 'a' } }) + event('ERROR', status) })
    const watch = maps.watch({ signal: new AbortController().signal })[Symbol.asyncIterator]()
    expect((await watch.next()).value).toHaveLength(1)
    await expect(watch.next()).rejects.toMatchObject({ code: 410, reason: 'Expired' })
  })

  test('a stream that ends within an event is an error', async () => {
    const maps = await start()
    server.scripted.push({ status: 200, body: '{"type":"ADDED","obj' })
    const watch = maps.watch({ signal: new AbortController().signal })[Symbol.asyncIterator]()
    await expect(watch.next()).rejects.toThrow('middle of a line')
  })
})
