import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../../src/base/clock.ts'
import { InputSlot } from './input-slot.ts'
import type { FuzzResult, FuzzWork } from './worker.ts'

/** An input that is parsed for so long never ends. */
const HANG_MS = 60_000
const MEMORY_MB = 768

export interface RunOptions {
  /** Where the bundled worker and targets are. */
  readonly modules: string
  readonly seeds: readonly Uint8Array[]
  readonly seconds: number
  readonly randomSeed: number
}

/** Fuzzes one target in a thread of its own. */
export async function runTarget(name: string, { modules, ...options }: RunOptions): Promise<FuzzResult> {
  const slot = InputSlot.allocate()
  const work: FuzzWork = { ...options, module: path.join(modules, 'targets', `${name}.js`), slot }
  const worker = new Worker(path.join(modules, 'engine', 'worker.js'), {
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  const current = new InputSlot(slot)
  const hang = watchForHang(current)
  const result = new Promise<FuzzResult>((resolve) => {
    worker.once('message', resolve)
    worker.once('error', (error) => resolve({ failure: error.stack ?? error.message, input: current.read() }))
  })
  try {
    return await Promise.race([result, hang.detected])
  } finally {
    hang.stop()
    await worker.terminate()
  }
}

function watchForHang(current: InputSlot): { readonly detected: Promise<FuzzResult>; stop(): void } {
  let stop = () => {}
  const detected = new Promise<FuzzResult>((resolve) => {
    let seen = current.count
    const check = () => {
      if (current.count === seen) {
        resolve({ failure: `one input was parsed for more than ${HANG_MS / 1000} s`, input: current.read() })
        return
      }
      seen = current.count
      timer = systemClock.after(HANG_MS, check)
    }
    let timer = systemClock.after(HANG_MS, check)
    stop = () => timer.cancel()
  })
  return { detected, stop: () => stop() }
}

/** The files of a folder, which need not exist. */
export function readInputs(folder: string): Uint8Array[] {
  try {
    return readdirSync(folder)
      .toSorted()
      .map((file) => readFileSync(path.join(folder, file)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
