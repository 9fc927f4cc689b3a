import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('begins a few at once, then each connection by turns, each in its own order', async () => {
  const turns = new Turns<object>(8)
  const begun: string[] = []
  const [flood, other, third] = [{}, {}, {}]
  for (let i = 0; i < 100; i++) turns.take(flood, () => begun.push(`flood ${i}`))
  expect(begun).toHaveLength(8)
  for (const [name, connection] of [
    ['other', other],
    ['third', third],
  ] as const)
    for (let i = 0; i < 2; i++) turns.take(connection, () => begun.push(`${name} ${i}`))
  await nextTurn()
  expect(begun.slice(8, 14)).toEqual(['flood 8', 'other 0', 'third 0', 'flood 9', 'other 1', 'third 1'])
  expect(begun).toHaveLength(16)
  for (let i = 0; i < 12; i++) await nextTurn()
  expect(begun.filter((one) => one.startsWith('flood'))).toEqual(Array.from({ length: 100 }, (_, i) => `flood ${i}`))
})

it('a request that comes alone never waits', async () => {
  const turns = new Turns<object>(8)
  const begun: number[] = []
  for (let i = 0; i < 40; i++) {
    turns.take({}, () => begun.push(i))
    expect(begun).toHaveLength(i + 1)
    await nextTurn()
  }
})
