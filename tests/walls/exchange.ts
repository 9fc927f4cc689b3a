/** Two entries of a folder that another process exchanges as fast as it can: a folder and a link, a file and a link. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { ownArchitecture, syscallNumbers } from '../../src/linux/syscall-numbers.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const RENAME_EXCHANGE = 2
const AT_FDCWD = -100

const PROGRAM = `
  const [number, a, b] = process.argv.slice(1)
  const koffi = require('koffi')
  const signature = ['int64_t', 'int', 'const char *', 'int', 'const char *', 'uint32_t']
  const exchange = koffi.load(null).func('syscall', 'int64_t', signature)
  let done = 0
  setImmediate(function again() {
    for (let i = 0; i < 500; i++)
      if (Number(exchange(Number(number), ${AT_FDCWD}, a, ${AT_FDCWD}, b, ${RENAME_EXCHANGE})) === 0) done++
    setImmediate(again)
  })
  process.stdin.on('end', () => { console.log(done); process.exit() }).resume()
  console.log('ready')
`

/** Runs `work` while the two are exchanged; returns how often they were. */
export async function whileExchanged(a: string, b: string, work: () => Promise<void>): Promise<number> {
  const number = syscallNumbers(ownArchitecture()).get('renameat2')
  const child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM, String(number), a, b], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout!.on('data', (bytes) => {
    output += bytes
  })
  const ended = once(child, 'exit')
  try {
    await once(child.stdout!, 'data')
    await work()
  } finally {
    child.stdin!.end()
    await ended
  }
  return Number(output.trim().split('\n').at(-1))
}

/** Runs work for each number below `count`, a few at a time. */
export async function manyTimes(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let i = next++; i < count; i = next++) await work(i)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
}
