/** What every relay does with connections and packets, over loopback sockets. */
import { createHash, randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Relay, RelayTarget } from './relay.ts'

const LOCALHOST = '127.0.0.1'
const SIZES = [1, 1000, 65_536, 65_537, 1_000_000, 5_000_000]
const PARALLEL = 40

const sha1 = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest('hex')

export function relayContract(name: string, start: () => Relay): void {
  describe(name, () => {
    let relay: Relay
    const closers: (() => void)[] = []
    let ids = 0
    beforeEach(() => {
      relay = start()
    })
    afterEach(() => {
      relay.stop()
      for (const close of closers.splice(0)) close()
    })

    async function serve(handle: (socket: Socket) => void): Promise<RelayTarget & { readonly server: Server }> {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => {})
        handle(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, LOCALHOST, resolve))
      closers.push(() => server.close())
      return { ip: LOCALHOST, port: (server.address() as AddressInfo).port, server }
    }

    const open = (endpoints: readonly RelayTarget[], affinityMs = 0, protocol: 'TCP' | 'UDP' = 'TCP') => {
      const targets = endpoints.map(({ ip, port }) => ({ ip, port }))
      return relay.open({ id: `l${ids++}`, family: 'IPv4', ip: LOCALHOST, protocol, endpoints: targets, affinityMs })
    }

    /** Sends all, says that this was all, and takes what comes back. */
    const exchange = (port: number, bytes: Uint8Array) =>
      new Promise<Buffer>((resolve, reject) => {
        const socket = connect({ host: LOCALHOST, port, allowHalfOpen: true })
        const received: Buffer[] = []
        socket.on('data', (chunk: Buffer) => received.push(chunk))
        socket.on('error', reject)
        socket.on('end', () => {
          socket.destroy()
          resolve(Buffer.concat(received))
        })
        socket.end(bytes)
      })

    const named = (word: string) => serve((socket) => void socket.end(word))
    const ask = async (port: number) => (await exchange(port, Buffer.alloc(0))).toString('utf8')
    const dead = async (): Promise<RelayTarget> => {
      const { server, ip, port } = await named('')
      await new Promise((resolve) => server.close(resolve))
      return { ip, port }
    }

    test.each(SIZES)('an answer of the hash after the end of %i bytes', async (size) => {
      const target = await serve((socket) => {
        const hash = createHash('sha1')
        socket.on('data', (chunk: Buffer) => hash.update(chunk))
        socket.on('end', () => socket.end(hash.digest('hex')))
      })
      const bytes = randomBytes(size)
      expect((await exchange(await open([target]), bytes)).toString('utf8')).toBe(sha1(bytes))
    })

    test('forty echoes at once, each half-closed, of every size', async () => {
      const port = await open([await serve((socket) => void socket.pipe(socket))])
      const sent = Array.from({ length: PARALLEL }, (_, i) => randomBytes(SIZES[i % SIZES.length]!))
      const received = await Promise.all(sent.map((bytes) => exchange(port, bytes)))
      expect(received.map(sha1)).toEqual(sent.map(sha1))
    })

    test('the server may end first', async () => {
      let got = ''
      const target = await serve((socket) => {
        socket.end('bye')
        socket.on('data', (chunk: Buffer) => {
          got += chunk.toString('utf8')
        })
      })
      const socket = connect({ host: LOCALHOST, port: await open([target]), allowHalfOpen: true })
      socket.resume()
      await new Promise((resolve) => socket.on('end', resolve))
      socket.end('late')
      await expect.poll(() => got).toBe('late')
    })

    test('what nobody reads waits at the sender', async () => {
      const port = await open([await serve((socket) => void socket.pause())])
      const socket = connect(port, LOCALHOST)
      socket.on('error', () => {})
      const chunk = Buffer.alloc(1 << 20)
      let sent = 0
      const more = () => {
        while (sent < 256 && socket.write(chunk, () => {})) sent++
      }
      socket.on('drain', more)
      more()
      await new Promise((resolve) => setTimeout(resolve, 300))
      expect(socket.bytesWritten).toBeLessThan(64 << 20)
      socket.destroy()
    })

    test('endpoints take turns', async () => {
      const port = await open([await named('a'), await named('b'), await named('c')])
      const words: string[] = []
      for (let i = 0; i < 6; i++) words.push(await ask(port))
      expect(words.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
      expect(words.slice(3)).toEqual(words.slice(0, 3))
    })

    test('another endpoint is tried when one refuses', async () => {
      const port = await open([await dead(), await dead(), await dead(), await named('a')])
      for (let i = 0; i < 8; i++) expect(await ask(port)).toBe('a')
    })

    test('a client is told when no endpoint answers', async () => {
      const port = await open([await dead()])
      await expect(ask(port)).rejects.toMatchObject({ code: 'ECONNRESET' })
    })

    test('a client stays with its endpoint, and moves on when that is gone', async () => {
      const [a, b] = [await named('a'), await named('b')]
      const id = `l${ids}`
      const port = await open([a, b], 60_000)
      const first = await ask(port)
      for (let i = 0; i < 5; i++) expect(await ask(port)).toBe(first)
      const other = first === 'a' ? b : a
      relay.change(id, { endpoints: [{ ip: other.ip, port: other.port }], affinityMs: 60_000 })
      await expect.poll(() => ask(port)).not.toBe(first)
    })

    test('a listener that is closed leaves its connections alone', async () => {
      const id = `l${ids}`
      const port = await open([await serve((socket) => void socket.pipe(socket))])
      const socket = connect(port, LOCALHOST)
      const echo = (word: string) =>
        new Promise<string>((resolve) => {
          socket.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')))
          socket.write(word)
        })
      expect(await echo('one')).toBe('one')
      relay.close(id)
      await expect.poll(() => ask(port).catch((error: NodeJS.ErrnoException) => error.code)).toBe('ECONNREFUSED')
      expect(await echo('two')).toBe('two')
      socket.destroy()
    })

    test('UDP: each client has a flow of its own', async () => {
      const server = createSocket('udp4')
      server.on('message', (packet, from) => server.send(`${packet} ${from.port}`, from.port, from.address))
      await new Promise<void>((resolve) => server.bind(0, LOCALHOST, resolve))
      closers.push(() => server.close())
      const port = await open([{ ip: LOCALHOST, port: server.address().port }], 0, 'UDP')
      const seen = new Set<string>()
      for (let i = 0; i < 5; i++) {
        const client = createSocket('udp4')
        const answer = () =>
          new Promise<string>((resolve) => {
            client.once('message', (packet) => resolve(packet.toString('utf8')))
            client.send(`q${i}`, port, LOCALHOST)
          })
        const [first, second] = [await answer(), await answer()]
        expect(first).toBe(second)
        expect(first).toMatch(new RegExp(`^q${i} `))
        seen.add(first.split(' ')[1]!)
        client.close()
      }
      expect(seen.size).toBe(5)
    })

    test('UDP: bursts of several clients come back whole, each to its sender', async () => {
      const server = createSocket('udp4')
      server.on('message', (packet, from) => server.send(packet, from.port, from.address))
      await new Promise<void>((resolve) => server.bind(0, LOCALHOST, resolve))
      closers.push(() => server.close())
      const port = await open([{ ip: LOCALHOST, port: server.address().port }], 0, 'UDP')
      const burst = async (sender: number) => {
        const client = createSocket('udp4')
        const sent = [1, 3, 600, 1472, 9000, 9].map((size, i) => Buffer.alloc(size, sender * 7 + i))
        const got: Buffer[] = []
        const all = new Promise<void>((resolve) => {
          client.on('message', (packet) => got.push(packet) === sent.length && resolve())
        })
        for (const packet of sent) client.send(packet, port, LOCALHOST)
        await all
        client.close()
        expect(got.map((packet) => packet.length)).toEqual(sent.map((packet) => packet.length))
        expect(Buffer.concat(got).equals(Buffer.concat(sent))).toBe(true)
      }
      await Promise.all(Array.from({ length: 6 }, (_, i) => burst(i)))
    })
  })
}
