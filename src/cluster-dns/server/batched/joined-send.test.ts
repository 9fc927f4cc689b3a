import { expect, it } from 'vitest'
import { JoinedSend } from './joined-send.ts'

const BATCH = 64
/** Where the kernel would find the memory. */
const [PACKETS, MESSAGES] = [0x7f12_3456_7000, 0x7f99_0000_1000]
const EINVAL = 22
const EPERM = 1

interface Answer {
  readonly client: number
  readonly length: number
}

/** What sendmmsg would be told: of each message the client, the packets, and the length they are cut into. */
function sent(answers: readonly Answer[], refuse: (packets: number) => number | undefined = () => undefined) {
  const words = new Uint32Array(BATCH * (16 + 4 + 8))
  const pointer = (at: number, address: number) => {
    words[at] = address % 2 ** 32
    words[at + 1] = Math.floor(address / 2 ** 32)
  }
  for (const [i, { client, length }] of answers.entries()) {
    pointer(i * 16, PACKETS + BATCH * 80 + i * 32)
    words[i * 16 + 2] = 16
    pointer(BATCH * 16 + i * 4, PACKETS + i)
    words[BATCH * 16 + i * 4 + 2] = length
    words[BATCH * 20 + i * 8] = client
  }
  const log: (number[] | string)[] = []
  let errno = 0
  const sender: JoinedSend = new JoinedSend(
    { batch: BATCH, words },
    {
      addressOf: () => MESSAGES,
      send(first, count) {
        for (let i = first; i < first + count; i++) {
          const message = decode(sender.bytes, i)
          errno = refuse(message.packets.length) ?? 0
          if (errno !== 0) return i > first ? i - first : -1
          log.push(message.packets)
          expect(message.segment).toBe(message.packets.length > 1 ? answers[message.packets[0]!]!.length : 0)
          expect(new Set(message.packets.map((packet) => answers[packet]!.client)).size).toBe(1)
        }
        return count
      },
      sendOne: (packet) => log.push(`${packet} apart`),
      errno: () => errno,
    },
  )
  return {
    log,
    again() {
      for (const i of answers.keys()) sender.add(i)
      sender.flush()
      return log.splice(0)
    },
  }
}

function decode(bytes: Uint8Array, message: number): { packets: number[]; segment: number } {
  const view = new DataView(bytes.buffer)
  const address = (at: number) => Number(view.getBigUint64(at, true))
  const header = message * 64
  const vectors = address(header + 16) - MESSAGES
  const packets = Array.from({ length: address(header + 24) }, (_, i) => address(vectors + i * 16) - PACKETS)
  const control = address(header + 32)
  if (control === 0) return { packets, segment: Number(view.getBigUint64(header + 40, true)) }
  const at = control - MESSAGES
  expect([view.getBigUint64(at, true), view.getUint32(at + 8, true), view.getUint32(at + 12, true)]).toEqual([
    18n,
    17,
    103,
  ])
  return { packets, segment: view.getUint16(at + 16, true) }
}

it.each<[string, Answer[], number[][]]>([
  ['one', [{ client: 1, length: 80 }], [[0]]],
  [
    'two to one client',
    [
      { client: 1, length: 80 },
      { client: 1, length: 80 },
    ],
    [[0, 1]],
  ],
  [
    'two clients',
    [
      { client: 1, length: 80 },
      { client: 2, length: 80 },
      { client: 1, length: 80 },
    ],
    [[0, 2], [1]],
  ],
  [
    'two lengths',
    [
      { client: 1, length: 80 },
      { client: 1, length: 90 },
      { client: 1, length: 80 },
    ],
    [[0, 2], [1]],
  ],
  [
    'long ones',
    [
      { client: 1, length: 1201 },
      { client: 1, length: 1201 },
    ],
    [[0], [1]],
  ],
  [
    'no more than a message holds',
    Array.from({ length: 52 }, () => ({ client: 1, length: 1200 })),
    [Array.from({ length: 50 }, (_, i) => i), [50, 51]],
  ],
])('%s', (_, answers, messages) => {
  const { again } = sent(answers)
  expect(again()).toEqual(messages)
  expect(again()).toEqual(messages)
})

const three = [1, 1, 2].map((client) => ({ client, length: 80 }))

it('where the system cannot cut, answers go apart, now and from then on', () => {
  const { again } = sent(three, (packets) => (packets > 1 ? EINVAL : undefined))
  expect(again()).toEqual(['0 apart', '1 apart', [2]])
  expect(again()).toEqual([[0], [1], [2]])
})

it('who may not be answered does not keep others from it', () => {
  const { again } = sent(three, (packets) => (packets > 1 ? EPERM : undefined))
  for (let i = 0; i < 2; i++) expect(again()).toEqual(['0 apart', '1 apart', [2]])
})
