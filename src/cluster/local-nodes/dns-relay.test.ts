import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { type DnsPlace, startDnsRelay } from './dns-relay.ts'

const host = '127.0.0.1'
const closing: AsyncDisposable[] = []
const upperCase = (bytes: Buffer) => Buffer.from(bytes.toString().toUpperCase())

/** Answers in capitals by both transports. */
async function startServer(): Promise<DnsPlace> {
  const tcp = createServer((socket) => socket.on('data', (bytes: Buffer) => socket.end(upperCase(bytes))))
  await once(tcp.listen(0, host), 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4').bind(port, host)
  await once(udp, 'listening')
  udp.on('message', (bytes, from) => udp.send(upperCase(bytes), from.port, from.address))
  closing.push({
    async [Symbol.asyncDispose]() {
      udp.close()
      tcp.close()
    },
  })
  return { host, port }
}

/** Free for both transports. */
async function freePlace(): Promise<DnsPlace> {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return { host, port }
}

let listen: DnsPlace
let client: Socket
beforeEach(async () => {
  listen = await freePlace()
  client = createSocket('udp4')
})
afterEach(async () => {
  client.close()
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

const relayTo = async (server: DnsPlace) => closing.push(await startDnsRelay({ listen, server, clock: systemClock }))

async function askByUdp(text: string): Promise<string> {
  client.send(text, listen.port, listen.host)
  const [answer] = (await once(client, 'message')) as [Buffer]
  return answer.toString()
}

describe('the relay of DNS', () => {
  it('passes questions and answers by UDP', async () => {
    await relayTo(await startServer())
    expect(await askByUdp('one')).toBe('ONE')
    expect(await askByUdp('two')).toBe('TWO')
  })

  it('passes them by TCP', async () => {
    await relayTo(await startServer())
    const socket = connect(listen)
    socket.write('three')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toBe('THREE')
    await once(socket, 'close')
  })

  it('outlives a server that is not there', async () => {
    const server = await startServer()
    const gone = await freePlace()
    const relay = await startDnsRelay({ listen, server: gone, clock: systemClock })
    client.send('lost', listen.port, listen.host)
    await once(connect(listen), 'close')
    await relay[Symbol.asyncDispose]()
    await relayTo(server)
    expect(await askByUdp('found')).toBe('FOUND')
  })

  it('is refused where something listens', async () => {
    const server = await startServer()
    await expect(startDnsRelay({ listen: server, server, clock: systemClock })).rejects.toThrow('EADDRINUSE')
  })
})
