import type { Clock } from './clock.ts'
import { isAlive, type ProcessRecord } from './process-claim.ts'

const INTERVAL = 20

/** Nothing if it is gone already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Asks a process to end, and ends it if it has not done so in time. Resolves when it is gone; to false if it had to be killed. */
export async function endProcess(owner: ProcessRecord, patience: number, clock: Clock): Promise<boolean> {
  if (await isGoneAfter(owner, 'SIGTERM', patience, clock)) return true
  await isGoneAfter(owner, 'SIGKILL', patience, clock)
  return false
}

async function isGoneAfter(owner: ProcessRecord, signal: NodeJS.Signals, patience: number, clock: Clock) {
  if (isAlive(owner)) sendSignal(owner.pid, signal)
  for (const end = clock.now() + patience; clock.now() < end; ) {
    if (!isAlive(owner)) return true
    await clock.sleep(INTERVAL)
  }
  return false
}
