import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { CERTIFICATE, KEY } from '../crd/webhook-certificate.fixture.ts'
import { listen } from './listener.ts'

const HOST = '127.0.0.1'
const startListener = () =>
  listen({ host: HOST, port: 0 }, { key: KEY, cert: CERTIFICATE, clientCa: CERTIFICATE }, systemClock, () => {})

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
