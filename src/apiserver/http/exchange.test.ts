import { once } from 'node:events'
import { type ClientHttp2Stream, connect, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { Http2Exchange } from './exchange.ts'

/** Time for whatever was sent to come in before anybody reads it. */
const LATER_MS = 50

/** What is read of a body by somebody who begins to read late. */
async function readLate(sends: (stream: ClientHttp2Stream) => void): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  try {
    const arrived = once(server, 'stream') as Promise<[ServerHttp2Stream, Record<string, string>]>
    const request = session.request({ ':method': 'POST', ':path': '/' })
    request.on('error', () => {})
    sends(request)
    const [stream, headers] = await arrived
    const exchange = new Http2Exchange(stream, headers, systemClock)
    await sleep(LATER_MS)
    return String(await exchange.readBody(systemClock))
  } finally {
    session.destroy()
    server.close()
  }
}

it.each<[string, (stream: ClientHttp2Stream) => void, string]>([
  ['an empty body that ends in a frame of its own', (stream) => void stream.end(''), ''],
  ['a body', (stream) => void stream.end('hello'), 'hello'],
])('%s is read, however late', async (_, sends, body) => {
  expect(await readLate(sends)).toBe(body)
})

it('a request that broke off before it was read is refused', async () => {
  const breakOff = (stream: ClientHttp2Stream) => stream.write('half', () => setImmediate(() => stream.close(8)))
  await expect(readLate(breakOff)).rejects.toThrow('the request was aborted')
})
