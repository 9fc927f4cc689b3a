import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as dial, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { type Datagram, DatagramReader, encodeDatagram, PROTOCOL } from './datagram.ts'
import { nameservers } from './link-addresses.ts'
import { reachable, serveOutside } from './outside.ts'
import { answerFrame, echoRequest, parseEchoReply, parseFrame } from './packet.ts'

const payload = Buffer.from('hello')
const udp: Datagram = { protocol: PROTOCOL.udp, localPort: 40_000, host: '192.0.2.7', port: 53, payload }
const echo: Datagram = { protocol: PROTOCOL.icmp, localPort: 77, host: '192.0.2.7', port: 3, payload }
const ends = { sourceMac: '02:00:00:00:00:02', destinationMac: '02:00:00:00:00:01', address: '169.254.77.1' }

describe('frames on the stream', () => {
  test.each([1, 2, 7, 1000])('in pieces of %i bytes', (size) => {
    const stream = Buffer.concat([udp, echo, { ...udp, payload: Buffer.alloc(0) }].map(encodeDatagram))
    const reader = new DatagramReader()
    const found: Datagram[] = []
    for (let at = 0; at < stream.length; at += size) found.push(...reader.read(stream.subarray(at, at + size)))
    expect(found.map((one) => ({ ...one, payload: String(one.payload) }))).toEqual([
      { ...udp, payload: 'hello' },
      { ...echo, payload: 'hello' },
      { ...udp, payload: '' },
    ])
  })
})

describe('packets', () => {
  /** The way back has the ends exchanged. */
  const request = (datagram: Datagram) => {
    const frame = answerFrame(datagram, ends)
    const [from, to] = [Buffer.from(frame.subarray(26, 30)), Buffer.from(frame.subarray(30, 34))]
    to.copy(frame, 26)
    from.copy(frame, 30)
    if (datagram.protocol === PROTOCOL.udp) {
      frame.writeUInt16BE(datagram.localPort, 34)
      frame.writeUInt16BE(datagram.port, 36)
    } else frame[34] = 8
    return frame
  }

  test.each([udp, echo])('are read as they are written: $protocol', (datagram) => {
    expect(parseFrame(request(datagram))).toEqual(datagram)
  })

  const changed = (at: number, value: number, from = request(udp)) => {
    from[at] = value
    return from
  }
  test.each([
    ['IPv6', changed(12, 0x86)],
    ['version 6', changed(14, 0x65)],
    ['TCP', changed(23, 6)],
    ['a fragment', changed(20, 0x20)],
    ['cut off', request(udp).subarray(0, 40)],
    ['longer than itself', changed(39, 200)],
    ['an echo reply', changed(34, 0, request(echo))],
    ['nothing', Buffer.alloc(0)],
  ])('not carried: %s', (_what, frame) => {
    expect(parseFrame(frame)).toBeUndefined()
  })

  test('checksums are right', () => {
    const sum = (bytes: Buffer) => {
      let total = 0
      for (let i = 0; i < bytes.length; i += 2) total += (bytes[i]! << 8) | (bytes[i + 1] ?? 0)
      while (total > 0xffff) total = (total & 0xffff) + (total >>> 16)
      return total
    }
    expect(sum(answerFrame(udp, ends).subarray(14, 34))).toBe(0xffff)
    expect(sum(echoRequest(echo))).toBe(0xffff)
  })

  test('a reply carries the number of the one who asked', () => {
    const reply = echoRequest({ ...echo, localPort: 999 })
    reply[0] = 0
    expect(parseEchoReply(reply, 77, '192.0.2.7')).toEqual(echo)
    reply[0] = 3
    expect(parseEchoReply(reply, 77, '192.0.2.7')).toBeUndefined()
  })
})

test.each([
  ['192.0.2.1', 80, true],
  ['127.0.0.1', 80, false],
  ['127.0.0.53', 53, false],
  ['0.0.0.0', 80, false],
  ['224.0.0.1', 80, false],
  ['255.255.255.255', 80, false],
  ['169.254.77.2', 80, false],
  ['::1', 80, false],
  ['example.test', 80, false],
])('%s port %i may be reached: %s', (host, port, expected) => {
  expect(reachable(host, port) !== undefined).toBe(expected)
})

describe('the outer side', () => {
  let folder: string
  let outside: AsyncDisposable
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'sampan-egress-'))
    outside = await serveOutside(path.join(folder, 's'), systemClock)
  })
  afterEach(async () => {
    await outside[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const say = (text: string) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket: Socket = dial(path.join(folder, 's'), () => socket.write(text))
      socket.on('data', (chunk) => (answer += chunk)).on('close', () => resolve(answer))
      socket.on('error', () => {})
    })

  test.each([
    ['loopback', 'tcp 127.0.0.1 1\n', 'no EACCES\n'],
    ['nowhere', 'tcp\n', 'no EACCES\n'],
    ['nonsense', 'nonsense\n', ''],
    ['a line without end', 'x'.repeat(500), ''],
  ])('%s is refused', async (_what, request, answer) => {
    expect(await say(request)).toBe(answer)
  })

  test('its end is felt inside', async () => {
    const over = say('lifeline\n')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await outside[Symbol.asyncDispose]()
    expect(await over).toBe('')
  })

  test('a second one takes the place of one that was killed', async () => {
    const other = await serveOutside(path.join(folder, 's'), systemClock)
    expect(await say('nonsense\n')).toBe('')
    await other[Symbol.asyncDispose]()
  })
})

test('name servers of the machine', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-names-'))
  const file = path.join(folder, 'resolv.conf')
  writeFileSync(file, '# nameserver 9.9.9.9\nnameserver 127.0.0.53\nnameserver ::1\n nameserver 192.0.2.1 \nsearch a\n')
  expect(nameservers(file)).toEqual(['127.0.0.53', '192.0.2.1'])
  rmSync(folder, { recursive: true, force: true })
})
