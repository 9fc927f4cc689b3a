import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { ConversionThread } from './conversion-thread.ts'

let thread: ConversionThread
afterEach(() => thread[Symbol.asyncDispose]())

it('reads and writes YAML, and indents JSON', async () => {
  thread = new ConversionThread(systemClock)
  const read = await thread.readYaml('a', 'a: yes\nb: [1]\na: no')
  expect(read).toEqual({ json: '{"a":false,"b":[1]}', duplicates: ['  line 3: key "a" already set in map'] })
  const json = Buffer.from('{"a":[1]}')
  expect(String(await thread.write('a', 'writeYaml', json))).toBe('a:\n  - 1\n')
  expect(String(await thread.write('a', 'indent', json))).toBe('{\n  "a": [\n    1\n  ]\n}')
})

it('tells what is wrong with a document', async () => {
  thread = new ConversionThread(systemClock)
  expect(await thread.readYaml('a', 'a: [')).toMatchObject({ line: 1 })
  await expect(thread.write('a', 'indent', Buffer.from('{'))).rejects.toMatchObject({ code: 503 })
})

it('gives each user a turn', async () => {
  thread = new ConversionThread(systemClock)
  const order: string[] = []
  const read = async (user: string, name: string) => {
    await thread.readYaml(user, 'a: 1')
    order.push(name)
  }
  await Promise.all([read('a', 'a1'), read('a', 'a2'), read('a', 'a3'), read('b', 'b1')])
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3'])
})

it('refuses what takes too long, and goes on with the next', async () => {
  const clock = new VirtualClock()
  thread = new ConversionThread(clock)
  const slow = thread.readYaml('a', 'a: 1\n'.repeat(50_000))
  const next = thread.readYaml('a', 'a: 1')
  const refused = expect(slow).rejects.toMatchObject({ code: 400, message: expect.stringContaining('too long') })
  await clock.advance(60_000)
  await refused
  expect(await next).toMatchObject({ json: '{"a":1}' })
})
