import { expect, test } from 'vitest'
import { createLogger, type LogFormat, type LogLevel } from './log.ts'

function capture(format: LogFormat, level: LogLevel = 'info') {
  const lines: string[] = []
  const log = createLogger({ format, level, now: () => 1_700_000_000_123, write: (line) => lines.push(line) })
  return { lines, log }
}

test('json lines carry time, level, message and the fields of all parents', () => {
  const { lines, log } = capture('json')
  log.child({ component: 'store' }).child({ shard: 1 }).warn('slow sync', { ms: 40 })
  expect(lines).toEqual([
    '{"time":"2023-11-14T22:13:20.123Z","level":"warn","message":"slow sync","component":"store","shard":1,"ms":40}\n',
  ])
})

test('a field cannot overwrite time, level or message', () => {
  const { lines, log } = capture('json')
  log.info('real', { message: 'forged', level: 'error' })
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: 'real', level: 'info', 'field.message': 'forged' })
})

test('text lines quote what needs quoting and stay on one line', () => {
  const { lines, log } = capture('text')
  log.error('lost\nthe store', { attempt: 3, reason: 'connection refused', host: 'a:1' })
  expect(lines).toEqual(['22:13:20.123 ERROR lost\\nthe store attempt=3 reason="connection refused" host=a:1\n'])
})

test.each<[LogLevel, number]>([
  ['debug', 4],
  ['info', 3],
  ['warn', 2],
  ['error', 1],
])('level %s lets %i of four lines through', (level, count) => {
  const { lines, log } = capture('json', level)
  log.debug('a')
  log.info('b')
  log.warn('c')
  log.child({}).error('d')
  expect(lines).toHaveLength(count)
})

test.each(['json', 'text'] as const)('%s survives cycles, bigints and errors', (format) => {
  const { lines, log } = capture(format)
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  log.info('odd', { cycle, big: 10n, error: new Error('boom') })
  expect(lines[0]!.endsWith('\n')).toBe(true)
  log.info('fine', { error: new Error('boom') })
  expect(lines[1]).toContain('boom')
})
