import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { request } from 'node:https'
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ClusterCertificates, loadCertificates } from '../../cluster/certificates.ts'
import { LOOK_MS } from '../../http2/connection-watch.ts'
import { type Listener, listen } from './listener.ts'

const HOST = '127.0.0.1'
const MINUTE_MS = 60_000

let clock: VirtualClock
let certificates: ClusterCertificates
let listener: Listener

beforeEach(async () => {
  clock = new VirtualClock(Date.now())
  certificates = await loadCertificates({ clock, serverNames: [HOST] })
  const tls = { ...certificates.server, clientCa: certificates.ca.cert }
  listener = await listen({ host: HOST, port: 0 }, tls, clock, (exchange) => {
    if (exchange.url === '/watch') exchange.open(200, {}).write(Buffer.from('begun'))
    else exchange.send(200, {}, Buffer.from('ok'))
  })
})
afterEach(() => listener[Symbol.asyncDispose]())

const place = () => ({ ca: certificates.ca.cert, host: HOST, port: listener.port })

async function http2(client: object = {}): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${HOST}:${listener.port}`, { ...place(), ...client })
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  return session
}

async function ask(session: ClientHttp2Session, path: string): Promise<void> {
  const stream = session.request({ ':path': path })
  stream.on('error', () => {})
  await once(stream, 'data')
}

/** A client certificate that is good for five minutes more. */
function shortLived(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const validity = { notBefore: clock.now() - MINUTE_MS, notAfter: clock.now() + 5 * MINUTE_MS }
  const cert = certificates.certify(publicKey, { commonName: 'a', usage: 'client', ...validity })
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
}

/** Time passes, and what is sent meanwhile arrives. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= LOOK_MS) {
    clock.advance(Math.min(left, LOOK_MS))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('a connection of HTTP/2', () => {
  it('without requests is ended after 90 s', async () => {
    const session = await http2()
    const told = once(session, 'goaway')
    await pass(LOOK_MS * 5)
    expect(session.closed).toBe(false)
    await pass(LOOK_MS)
    expect((await told)[0]).toBe(0)
  })

  it('with a watch on it stays', async () => {
    const session = await http2()
    await ask(session, '/watch')
    await pass(LOOK_MS * 40)
    expect(session.closed).toBe(false)
    session.destroy()
  })

  it('ends when the client certificate expires, with its watches', async () => {
    const session = await http2(shortLived())
    await ask(session, '/watch')
    const told = once(session, 'goaway')
    await pass(4 * MINUTE_MS)
    expect(session.closed).toBe(false)
    await pass(2 * MINUTE_MS)
    expect(String((await told)[2])).toBe('the client certificate has expired')
  })
})

describe('a connection of HTTP/1.1', () => {
  it('ends when the client certificate expires, with its watches', async () => {
    const asked = request({ ...place(), ...shortLived(), path: '/watch', agent: false })
    asked.on('error', () => {})
    asked.end()
    const [response] = await once(asked, 'response')
    response.on('error', () => {})
    const closed = new Promise((resolve) => response.on('close', resolve))
    await pass(4 * MINUTE_MS)
    expect(response.destroyed).toBe(false)
    await pass(2 * MINUTE_MS)
    await closed
    expect(response.complete).toBe(false)
  })
})

it('a client that says nothing after the handshake is not kept for ever', async () => {
  const socket = connect({ ...place(), ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'secureConnect')
  const closed = once(socket, 'close')
  await pass(LOOK_MS * 4)
  await closed
})
