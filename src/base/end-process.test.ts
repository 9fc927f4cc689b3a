import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { endProcess, sendSignal } from './end-process.ts'
import { isAlive } from './process-claim.ts'
import { processStartTime } from './process-identity.ts'

async function start(script: string) {
  const child = spawn(process.execPath, ['-e', `${script}; console.log(); setInterval(() => {}, 1000)`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(child.stdout, 'data')
  return { pid: child.pid!, startTime: processStartTime(child.pid!)! }
}

test.each([
  ['one that obeys', '', 60_000, true],
  ['one that does not', "process.on('SIGTERM', () => {})", 300, false],
])('%s', async (_, script, patience, obeys) => {
  const owner = await start(script)
  expect(await endProcess(owner, patience, systemClock)).toBe(obeys)
  expect(isAlive(owner)).toBe(false)
  expect(await endProcess(owner, patience, systemClock)).toBe(true)
  sendSignal(owner.pid, 'SIGTERM')
})

test('another process of the same number is left alone', async () => {
  const owner = await start('')
  expect(await endProcess({ ...owner, startTime: 'another' }, 1000, systemClock)).toBe(true)
  expect(isAlive(owner)).toBe(true)
  await endProcess(owner, 60_000, systemClock)
})
