/** The thread in which inputs are parsed, so that one that never ends can be stopped from outside. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../src/base/clock.ts'
import { seededRandom } from '../../../src/base/random.ts'
import { Coverage } from './coverage.ts'
import { Fuzzer, FuzzFailure } from './fuzzer.ts'
import { InputSlot } from './input-slot.ts'
import { minimized } from './minimize.ts'
import type { FuzzTarget } from './target.ts'

export interface FuzzWork {
  /** The module of the target. */
  readonly module: string
  readonly seeds: readonly Uint8Array[]
  readonly seconds: number
  readonly randomSeed: number
  readonly slot: SharedArrayBuffer
}

export type FuzzResult =
  | { readonly executions: number; readonly corpus: readonly Uint8Array[] }
  | { readonly failure: string; readonly input: Uint8Array }

const { module, seeds, seconds, randomSeed, slot } = workerData as FuzzWork
const folder = new URL('..', import.meta.url).href
const coverage = new Coverage((url) => url.startsWith(folder) && url !== import.meta.url)
const { target } = (await import(module)) as { target: FuzzTarget }
const current = new InputSlot(slot)
parentPort!.postMessage(await fuzz())

async function fuzz(): Promise<FuzzResult> {
  const fuzzer = new Fuzzer(target, coverage, seededRandom(randomSeed), (input) => current.write(input))
  try {
    await fuzzer.addSeeds(seeds.map((seed) => Buffer.from(seed)))
    const end = systemClock.now() + seconds * 1000
    while (systemClock.now() < end) await fuzzer.fuzz()
    await fuzzer.recheck()
    return { executions: fuzzer.executions, corpus: fuzzer.corpus }
  } catch (error) {
    if (!(error instanceof FuzzFailure)) throw error
    const input = await minimized(error, target)
    return { failure: (error.cause as Error | undefined)?.stack ?? error.message, input }
  }
}
