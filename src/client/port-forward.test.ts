import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { systemClock } from '../base/clock.ts'
import { spdyConnection } from '../base/spdy.ts'
import { dialPortForward, servePortForward } from './port-forward.ts'

let echo: Server
let port: number
let url: string
let stop: () => void

beforeAll(async () => {
  echo = createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  port = (echo.address() as AddressInfo).port
  const server = createServer()
  server.on('upgrade', (request, socket, head) => {
    const ports = new URL(request.url ?? '', 'http://x').searchParams.getAll('port').map(Number)
    const dial = (to: number) =>
      new Promise<ReturnType<typeof connect>>((resolve, reject) => {
        const backend = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true })
        backend.once('connect', () => resolve(backend)).once('error', reject)
      })
    void servePortForward({ request, socket, head }, { connect: dial, ports, clock: systemClock })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `127.0.0.1:${(server.address() as AddressInfo).port}/`
  stop = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterAll(() => {
  stop()
  echo.close()
})

test('SPDY', async () => {
  const connection = await dialPortForward(`http://${url}`, port)
  connection.end('hello')
  expect(await text(connection)).toBe('hello')
})

test('a port where nobody listens', async () => {
  const connection = await dialPortForward(`http://${url}`, 1)
  await expect(text(connection)).rejects.toThrow('ECONNREFUSED')
})

test('SPDY in WebSocket messages is agreed to by its name', async () => {
  const headers = { 'Sec-WebSocket-Protocol': 'SPDY/3.1+portforward.k8s.io' }
  const socket = new WebSocket(`ws://${url}`, { headers })
  // The name has a slash, so this client cannot ask for it properly, and takes the answer for an error.
  const [error] = (await once(socket, 'error')) as [Error]
  expect(error.message).toBe('Server sent a subprotocol but none was requested')
})

describe('streams', () => {
  async function dial() {
    const socket = connect(Number(/:(\d+)/.exec(url)![1]), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toContain('101 Switching Protocols')
    return spdyConnection(socket, { role: 'client' })
  }

  test.each<[what: string, headers: Record<string, string>]>([
    ['no port', { streamtype: 'data', requestid: '1' }],
    ['a port out of range', { streamtype: 'data', port: '70000', requestid: '1' }],
    ['no type', { port: '80', requestid: '1' }],
  ])('with %s are refused', async (_, headers) => {
    const connection = await dial()
    await expect(connection.open(headers).accepted).rejects.toThrow('reset (3)')
    connection.destroy()
  })

  test('of the oldest clients belong together by their ids', async () => {
    const connection = await dial()
    connection.open({ streamtype: 'error', port: String(port) }).resume()
    const data = connection.open({ streamtype: 'data', port: String(port) })
    data.end('old')
    expect(await text(data)).toBe('old')
    connection.destroy()
  })
})

test('the old WebSocket form', async () => {
  const socket = new WebSocket(`ws://${url}?port=${port}&port=1`, ['v4.channel.k8s.io'])
  const channels = new Map<number, Buffer>()
  const got = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      const channel = data[0]!
      channels.set(channel, Buffer.concat([channels.get(channel) ?? Buffer.alloc(0), data.subarray(1)]))
      const isDone = channels.get(0)?.includes('hello') && channels.get(3)?.includes('ECONNREFUSED')
      if (isDone) resolve()
    })
  })
  await once(socket, 'open')
  socket.send(Buffer.from('\0hello'))
  await got
  expect(channels.get(0)?.readUInt16LE(0)).toBe(port)
  expect(channels.get(1)?.readUInt16LE(0)).toBe(port)
  expect(channels.get(0)?.toString('utf8', 2)).toBe('hello')
  socket.close()
  await once(socket, 'close')
})
