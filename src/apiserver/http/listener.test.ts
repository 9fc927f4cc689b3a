import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { get } from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { CERTIFICATE, KEY } from '../crd/webhook-certificate.fixture.ts'
import { listen } from './listener.ts'

const HOST = '127.0.0.1'
const startListener = (onRequest: Parameters<typeof listen>[3] = () => {}) =>
  listen({ host: HOST, port: 0 }, { key: KEY, cert: CERTIFICATE, clientCa: CERTIFICATE }, systemClock, onRequest)

it('closes while somebody never ends the TLS handshake, and tells the others to go', async () => {
  const listener = await startListener()
  const silent = connect(listener.port, HOST)
  await once(silent, 'connect')
  const client = connectHttp2(`https://${HOST}:${listener.port}`, { rejectUnauthorized: false })
  // Whoever came first was accepted before.
  await once(client, 'remoteSettings')
  const told = once(client, 'goaway')
  const closed = once(silent, 'close')
  await listener[Symbol.asyncDispose]()
  await Promise.all([told, closed])
  expect(silent.destroyed).toBe(true)
})

it('takes URLs as long as the arguments of exec may be', async () => {
  const listener = await startListener((exchange) => void exchange.send(200, {}, Buffer.from(exchange.url)))
  const path = `/?command=${'a'.repeat(100_000)}`
  const asked = get({ host: HOST, port: listener.port, path, rejectUnauthorized: false })
  const [response] = await once(asked, 'response')
  expect(response.statusCode).toBe(200)
  expect(await text(response)).toBe(path)
  await listener[Symbol.asyncDispose]()
})

it('large answers to many at once do not get mixed up', async () => {
  const listener = await startListener((exchange) => void exchange.send(200, {}, largeBody(exchange.url)))
  const clients = Array.from({ length: 12 }, () =>
    connectHttp2(`https://${HOST}:${listener.port}`, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: 8 << 20 },
    }),
  )
  for (const client of clients) client.once('connect', () => client.setLocalWindowSize(1 << 30))
  const answers = clients.map(async (client, i) => {
    const chunks: Buffer[] = []
    for await (const chunk of client.request({ ':path': `/${i}` })) chunks.push(chunk as Buffer)
    client.close()
    return Buffer.concat(chunks).equals(largeBody(`/${i}`))
  })
  expect(await Promise.all(answers)).toEqual(clients.map(() => true))
  await listener[Symbol.asyncDispose]()
})

/** Larger than sockets take at once, and another one for each path. */
const largeBody = (path: string) => Buffer.alloc(6 << 20, `${path} `)
