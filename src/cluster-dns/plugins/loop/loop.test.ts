import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../../base/clock.ts'
import { createLogger } from '../../../base/log.ts'
import { configured, type TestConfiguration } from '../../configuration.contract.ts'
import { createHandler } from '../../server/handle.ts'
import { addresses, startUpstream } from '../upstream.contract.ts'

const lines: string[] = []
const log = createLogger({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) })
let dns: TestConfiguration | undefined
let socket: Socket | undefined

afterEach(async () => {
  lines.length = 0
  await dns?.configuration[Symbol.asyncDispose]()
  socket?.close()
  socket = undefined
})

it('stops a circle', async () => {
  socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  dns = configured(`. {\n loop\n forward . 127.0.0.1:${port}\n}`, { clock: systemClock, log })
  const handle = createHandler({ answer: dns.configuration.answer, log })
  socket.on('message', async (packet, from) => {
    const answer = await handle(packet, { client: from.address, transport: 'udp' })
    if (answer) socket?.send(answer, from.port, from.address)
  })
  await dns.configuration.start()
  await vi.waitFor(() => expect(lines.join('')).toMatch(/Loop \(\d+\.\d+\) detected for zone/))
  expect(await dns.ask('a.org')).toBe('SERVFAIL')
})

it('lets pass what comes to an end', async () => {
  await using upstream = await startUpstream()
  upstream.answer = addresses(1)
  dns = configured(`. {\n loop\n forward . 127.0.0.1:${upstream.port}\n}`, { clock: systemClock, log })
  await dns.configuration.start()
  await vi.waitFor(() => expect(upstream.asked.some((asked) => asked.startsWith('udp 13 '))).toBe(true))
  expect(await dns.ask('a.org')).toBe('NOERROR a.org 60 A 192.0.2.1')
  expect(lines).toEqual([])
})
