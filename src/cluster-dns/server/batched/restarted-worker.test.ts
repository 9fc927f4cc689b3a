import { createRequire } from 'node:module'
import { expect, it, vi } from 'vitest'
import { createLogger } from '../../../base/log.ts'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { RestartedWorker } from './restarted-worker.ts'
import { type LoopData, SHARED } from './worker-messages.ts'

const isLinux = process.platform === 'linux'
const NO_SOCKET = -1

const dataOf = (changes: Partial<LoopData>): LoopData => ({
  ...{ koffi: createRequire(import.meta.url).resolve('koffi'), fd: NO_SOCKET, seed: 1, batch: 4, bufferSize: 512 },
  ...{ addressSize: 16, maxWaiting: 10, layout: SHARED },
  shared: new SharedArrayBuffer(SHARED.hitsAt + SHARED.hitSlots * 8),
  ...changes,
})

function contextOf() {
  const lines: string[] = []
  const log = createLogger({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) })
  return { lines, log, clock: new VirtualClock() }
}

it.runIf(isLinux)('a worker that fails is replaced after a while, until the end', async () => {
  const context = contextOf()
  const data = dataOf({})
  const worker = new RestartedWorker(data, context, () => {})
  await worker.start()
  const failures = () => context.lines.filter((line) => line.includes('the DNS worker failed')).length
  for (let round = 1; round <= 2; round++) {
    await vi.waitFor(() => expect([failures(), context.clock.pending]).toEqual([round, 1]), 5000)
    expect(context.lines.join('')).toContain('recvmmsg: errno 9')
    context.clock.advance(1000)
  }
  await vi.waitFor(() => expect([failures(), context.clock.pending]).toEqual([3, 1]), 5000)
  Atomics.store(new Int32Array(data.shared), SHARED.stop, 1)
  context.clock.advance(1000)
  await worker.ended()
  expect(context.clock.pending).toBe(0)
})

it('a worker that cannot start says so', async () => {
  const context = contextOf()
  const worker = new RestartedWorker(dataOf({ koffi: '/nowhere' }), context, () => {})
  await expect(worker.start()).rejects.toThrow('/nowhere')
  await worker.ended()
  expect(context.clock.pending).toBe(0)
})
