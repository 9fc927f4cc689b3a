import type { ClientHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { Http2Stream } from '../../http2/stream.ts'
import { serve } from '../../http2/testing.ts'
import { Http2Exchange } from './http2-exchange.ts'

/** Time for whatever was sent to come in before anybody reads it. */
const LATER_MS = 50

/** What is read of a body by somebody who begins to read late. */
async function readLate(sends: (stream: ClientHttp2Stream) => void): Promise<string> {
  const arrived: Http2Stream[] = []
  await using server = await serve((stream) => void arrived.push(stream))
  const request = server.client().request({ ':method': 'POST', ':path': '/' })
  request.on('error', () => {})
  sends(request)
  await expect.poll(() => arrived.length).toBe(1)
  const exchange = new Http2Exchange(arrived[0]!, systemClock)
  await sleep(LATER_MS)
  return String(await exchange.readBody(systemClock))
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

it.each([
  ['nothing', []],
  ['a little', ['a', 'b']],
  ['more than a window', Array.from({ length: 50 }, () => 'x'.repeat(30_000))],
])('%s that is handed on arrives whole', async (_, parts) => {
  await using server = await serve((stream) => {
    Readable.from(parts).pipe(new Http2Exchange(stream, systemClock).relay(200, {}))
  })
  const request = server.client().request({ ':path': '/' })
  expect(await text(request)).toBe(parts.join(''))
  expect(request.rstCode).toBe(0)
})

it('what breaks off while it is handed on is told so', async () => {
  await using server = await serve((stream) => {
    const out = new Http2Exchange(stream, systemClock).relay(200, {})
    out.write('half', () => out.destroy())
  })
  const request = server.client().request({ ':path': '/' })
  expect([await text(request), request.rstCode]).toEqual(['half', 8])
})

it('a body is handed on as fast as it is taken', async () => {
  const bodies: Readable[] = []
  await using server = await serve((stream) => void bodies.push(new Http2Exchange(stream, systemClock).body))
  const sent = 'x'.repeat(3_000_000)
  const request = server.client().request({ ':method': 'POST', ':path': '/' })
  request.end(sent)
  await expect.poll(() => bodies.length).toBe(1)
  await sleep(LATER_MS)
  expect(server.connections[0]!.bytesRead).toBeLessThan(1_200_000)
  expect((await text(bodies[0]!)) === sent).toBe(true)
})
