import { describe, expect, it } from 'vitest'
import type { Write } from '../store.ts'
import { answersInOrder, progressByMarker } from './progress.ts'

describe('progress answers come in order', () => {
  const versions: [string, boolean][] = [
    ['3.3.27', false],
    ['3.4.23', false],
    ['3.4.30', false],
    ['3.4.31', true],
    ['3.5.8', false],
    ['3.5.13', true],
    ['3.5.21', true],
    ['3.6.0', true],
    ['3.7.0-alpha.0', true],
    ['4.0.0', true],
    ['', false],
  ]
  it.each(versions)('%s: %s', (version, expected) => expect(answersInOrder(version)).toBe(expected))
})

describe('progress by a marker', () => {
  it('is written once more for those who asked while one was under way', async () => {
    const writes: Write[] = []
    const done: (() => void)[] = []
    const progress = progressByMarker((write) => {
      writes.push(write)
      return new Promise<void>((resolve) => done.push(resolve))
    })
    const finishNext = async () => {
      done.shift()!()
      await new Promise(setImmediate)
    }
    progress.request('/a/', undefined)
    await finishNext()
    // The marker is being removed: those who ask now are not answered by it.
    for (let i = 0; i < 3; i++) progress.request('/a/', undefined)
    while (done.length > 0) await finishNext()
    expect(writes.map(({ value }) => (value ? 'put' : 'delete'))).toEqual(['put', 'delete', 'put', 'delete'])
  })
})
