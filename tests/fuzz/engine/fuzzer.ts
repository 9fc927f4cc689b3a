import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Random } from '../../../src/base/random.ts'
import type { Coverage } from './coverage.ts'
import { Mutator } from './mutate.ts'
import type { FuzzTarget } from './target.ts'

/** Reading the coverage takes a millisecond, so this many inputs share one reading. */
const BATCH = 64
const DEFAULT_MAX_BYTES = 4096

/** An invariant that does not hold, and the input that shows it. */
export class FuzzFailure extends Error {
  readonly input: Buffer

  constructor(message: string, input: Buffer, cause?: unknown) {
    super(message, { cause })
    this.input = input
  }
}

interface Known {
  readonly input: Buffer
  readonly outcome: unknown
}

/** Keeps every input that executes code which no input before it did, and makes new ones from those. */
export class Fuzzer {
  readonly #target: FuzzTarget
  readonly #coverage: Coverage
  readonly #random: Random
  readonly #mutator: Mutator
  readonly #before: (input: Buffer) => void
  readonly #known: Known[] = []
  executions = 0

  /** `before` is called with each input before it is parsed. */
  constructor(target: FuzzTarget, coverage: Coverage, random: Random, before: (input: Buffer) => void) {
    this.#target = target
    this.#coverage = coverage
    this.#random = random
    this.#before = before
    this.#mutator = new Mutator(random, target.dictionary ?? [], target.maxBytes ?? DEFAULT_MAX_BYTES)
  }

  /** Inputs that reached something new. */
  get corpus(): readonly Buffer[] {
    return this.#known.map(({ input }) => input)
  }

  /** Seeds are known whatever they reach. */
  async addSeeds(seeds: readonly Buffer[]): Promise<void> {
    for (const seed of seeds) await this.#examine(seed, true)
  }

  /** Tries one batch of new inputs. */
  async fuzz(): Promise<void> {
    const inputs = Array.from({ length: BATCH }, () => this.#mutator.mutate(this.#pick(), this.#pick()))
    for (const input of inputs) await this.#run(input)
    // What inputs put off to the next tick happens now, or it would pile up.
    await setImmediate()
    const batch = this.#coverage.take()
    const allowed = inputs.reduce((sum, input) => sum + this.#allowedSteps(input), 0)
    if (!batch.isNew && batch.steps <= allowed) return
    // Each alone, to see which of them it was.
    for (const input of inputs) await this.#examine(input, false)
    batch.learn()
  }

  /** Parses all known inputs again: nothing may depend on what came before. */
  async recheck(): Promise<void> {
    for (const { input, outcome } of this.#known) {
      if (!isDeepStrictEqual(await this.#run(input), outcome))
        throw new FuzzFailure('the same input gives another outcome than before', input)
    }
  }

  async #examine(input: Buffer, isSeed: boolean): Promise<void> {
    this.#coverage.take()
    const outcome = await this.#run(input)
    const { isNew, steps, learn } = this.#coverage.take()
    const allowed = this.#allowedSteps(input)
    if (steps > allowed)
      throw new FuzzFailure(`${input.length} bytes take ${steps} steps, and ${allowed} are allowed`, input)
    if (!isNew && !isSeed) return
    learn()
    this.#known.push({ input, outcome })
  }

  async #run(input: Buffer): Promise<unknown> {
    this.#before(input)
    this.executions++
    try {
      // The parser gets a copy: an outcome that keeps a part of the input is no leak.
      const outcome = this.#target.run(Buffer.from(input))
      return outcome instanceof Promise ? await outcome : outcome
    } catch (error) {
      throw new FuzzFailure(error instanceof Error ? `${error.name}: ${error.message}` : String(error), input, error)
    }
  }

  #allowedSteps({ length }: Buffer): number {
    const { fixed, perByte } = this.#target.steps
    return fixed + perByte * length
  }

  /** The newest ones more often: they reached the most. */
  #pick(): Buffer {
    const { length } = this.#known
    return this.#known[Math.floor(Math.sqrt(this.#random.next()) * length)]?.input ?? Buffer.alloc(0)
  }
}
