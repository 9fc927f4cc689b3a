import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fileChanges } from './changes.ts'
import { systemClock } from './clock.ts'

it('tells each new content of a file once, however it got there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sampan-changes-'))
  const path = join(folder, 'file')
  const seen: string[] = []
  const failures: string[] = []
  const stop = new AbortController()
  try {
    writeFileSync(path, 'one')
    const read = (text: string) => {
      if (text === 'bad') throw new Error('bad')
      return text.toUpperCase()
    }
    const quick = { ...systemClock, after: (_: number, callback: () => void) => systemClock.after(5, callback) }
    const changes = fileChanges(path, 'one', read, quick, (error) => failures.push(String(error)))
    changes(async (next) => {
      seen.push(next)
    }, stop.signal)
    writeFileSync(path, 'second')
    await expect.poll(() => seen).toEqual(['SECOND'])
    writeFileSync(path, 'bad')
    await expect.poll(() => failures).toEqual(['Error: bad'])
    rmSync(path)
    await expect.poll(() => failures.length).toBe(2)
    writeFileSync(join(folder, 'next'), 'third')
    renameSync(join(folder, 'next'), path)
    await expect.poll(() => seen).toEqual(['SECOND', 'THIRD'])
  } finally {
    stop.abort()
    rmSync(folder, { recursive: true })
  }
})
