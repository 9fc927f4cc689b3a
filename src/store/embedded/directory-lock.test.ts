import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockDirectory } from './directory-lock.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sampan-lock-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const startTime = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19]

describe('the lock of a directory', () => {
  it('lets one in and the next one when it is released', async () => {
    const unlock = await lockDirectory(directory)
    await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${process.pid}`)
    await unlock()
    expect(readdirSync(directory)).toEqual([])
    await (await lockDirectory(directory))()
  })

  it('lets one of many in', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockDirectory(directory)))
    expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
  })

  it('is taken over from a process that is dead', async () => {
    const dead = Number(execFileSync(process.execPath, ['-p', 'process.pid']))
    writeFileSync(join(directory, 'lock'), `${dead} 123 x\n`)
    const unlock = await lockDirectory(directory)
    expect(readFileSync(join(directory, 'lock'), 'utf8')).toMatch(new RegExp(`^${process.pid} `))
    await unlock()
  })

  it.skipIf(process.platform !== 'linux')('is told from a younger process with the same number', async () => {
    const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'])
    try {
      writeFileSync(join(directory, 'lock'), `${other.pid} ${startTime(other.pid!)} x\n`)
      await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${other.pid}`)
      writeFileSync(join(directory, 'lock'), `${other.pid} 1 x\n`)
      await (await lockDirectory(directory))()
    } finally {
      other.kill('SIGKILL')
    }
  })

  it.each(['', 'garbage', '-1 2 3', '99999999999 1 x'])(
    'is taken over when it names no process: %j',
    async (content) => {
      writeFileSync(join(directory, 'lock'), content)
      await (await lockDirectory(directory))()
    },
  )
})
