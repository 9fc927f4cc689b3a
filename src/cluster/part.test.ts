import { describe, expect, it } from 'vitest'
import { createLogger, silentLogger } from '../base/log.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { type Part, type PartStatus, Parts, type PartsOptions } from './part.ts'

type Record = string[]

/** A part that writes down what happens to it; `fails` names the step at which it throws. */
const part = (name: string, more: Partial<Part<Record>> & { fails?: 'start' | 'stop' } = {}): Part<Record> => ({
  name,
  start: (record) => {
    if (more.fails === 'start') throw new Error(`no ${name}`)
    record.push(`+${name}`)
  },
  stop: (record) => {
    record.push(`-${name}`)
    if (more.fails === 'stop') throw new Error(`${name} stays`)
  },
  remove: (record) => void record.push(`x${name}`),
  ...more,
})

function listOf(parts: readonly Part<Record>[], options: Partial<PartsOptions> = {}) {
  const record: Record = []
  const clock = new VirtualClock()
  return { record, clock, list: new Parts(parts, record, { clock, log: silentLogger, ...options }) }
}

const states = (list: Parts<Record>) => list.status.map(({ name, state }) => `${name} ${state}`)

describe('starting and stopping', () => {
  it('starts in order, removes and stops in reverse order', async () => {
    const { list, record } = listOf([part('a'), part('b'), part('c')])
    await list.start()
    await list.remove()
    await list.stop()
    expect(record).toEqual(['+a', '+b', '+c', 'xc', 'xb', 'xa', '-c', '-b', '-a'])
  })

  it('waits for a part before it starts the next one', async () => {
    const slow = part('slow', {
      async start(record) {
        await new Promise(setImmediate)
        record.push('+slow')
      },
    })
    const { list, record } = listOf([slow, part('next')])
    await list.start()
    expect(record).toEqual(['+slow', '+next'])
  })

  it('leaves out a part that is not needed', async () => {
    const { list, record } = listOf([part('a', { isNeeded: () => false }), part('b')])
    await list.start()
    expect(record).toEqual(['+b'])
    expect(states(list)).toEqual(['b running'])
  })

  it('stops what was started when a part fails, and reports the failure', async () => {
    const { list, record } = listOf([part('a'), part('b'), part('c', { fails: 'start' }), part('d')])
    await expect(list.start()).rejects.toThrow('no c')
    expect(record).toEqual(['+a', '+b', '-b', '-a'])
    expect(states(list)).toEqual(['a running', 'b running', 'c failed', 'd waiting'])
    expect(list.status[2]).toMatchObject({ error: 'no c' })
  })

  it('stops the others when one fails to stop', async () => {
    const { list, record } = listOf([part('a'), part('b', { fails: 'stop' }), part('c')])
    await list.start()
    await expect(list.stop()).rejects.toThrow('b stays')
    expect(record.slice(3)).toEqual(['-c', '-b', '-a'])
  })

  it('stops once, however often it is asked', async () => {
    const { list, record } = listOf([part('a')])
    await list.start()
    await list.stop()
    await list.stop()
    expect(record).toEqual(['+a', '-a'])
  })

  it('starts nothing more when it is stopped during a start', async () => {
    let go = () => {}
    const slow = part('slow', { start: () => new Promise<void>((resolve) => (go = resolve)) })
    const { list, record } = listOf([part('a'), slow, part('never')])
    const starting = list.start()
    await new Promise(setImmediate)
    await list.stop()
    go()
    await starting
    expect(record).toEqual(['+a', '-a'])
  })
})

describe('in the background', () => {
  const later = (name: string, more: Parameters<typeof part>[1] = {}) => part(name, { ...more, inBackground: true })

  function deferred() {
    let resolve = () => {}
    const promise = new Promise<void>((done) => (resolve = done))
    return { promise, resolve }
  }

  it('parts start in their turn if there is nothing to wait for', async () => {
    const { list, record } = listOf([later('a'), part('b')])
    await list.start()
    expect(record).toEqual(['+a', '+b'])
  })

  it('parts start one after the other once the process is ready, and stop in the order of the list', async () => {
    const ready = deferred()
    const { list, record } = listOf([part('api'), later('a'), later('b'), part('nodes')], { ready: ready.promise })
    await list.start()
    expect(record).toEqual(['+api', '+nodes'])
    expect(states(list)).toEqual(['api running', 'a waiting', 'b waiting', 'nodes running'])
    ready.resolve()
    await expect.poll(() => record).toEqual(['+api', '+nodes', '+a', '+b'])
    await list.stop()
    expect(record.slice(4)).toEqual(['-nodes', '-b', '-a', '-api'])
  })

  it('a failure is logged, and the parts after it do not start', async () => {
    const lines: string[] = []
    const log = createLogger({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) })
    const parts = [later('a', { fails: 'start' }), later('b'), part('nodes')]
    const { list, record } = listOf(parts, { ready: Promise.resolve(), log })
    await list.start()
    await expect.poll(() => states(list)).toEqual(['a failed', 'b waiting', 'nodes running'])
    expect(lines.join()).toContain('failed to start a')
    await list.stop()
    expect(record).toEqual(['+nodes', '-nodes'])
  })

  it('a stop before the process is ready starts none of them', async () => {
    const { list, record } = listOf([part('api'), later('a')], { ready: new Promise<void>(() => {}) })
    await list.start()
    await list.stop()
    expect(record).toEqual(['+api', '-api'])
  })
})

it('reports each change with the time of it', async () => {
  const seen: (readonly PartStatus[])[] = []
  const { list, clock } = listOf([part('a')], { onChange: (status) => seen.push(status) })
  clock.advance(1000)
  const now = clock.now()
  await list.start()
  expect(seen.map(([status]) => status?.state)).toEqual(['waiting', 'starting', 'running'])
  expect(seen.at(-1)).toEqual([{ name: 'a', state: 'running', since: now }])
})
