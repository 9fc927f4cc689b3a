import { internalError } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import type { Transport } from '../../client/transport.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { type ControllerRunner, runControllers } from '../runner.ts'

const READS = new Set(['get', 'list'])

/**
 * Loses some writes before they happen, and the answers of some others. Creations only before: a creation whose answer
 * is lost may be made again before the first is seen, and nobody can know.
 */
export function faultyTransport(transport: Transport, random: Random, rate: number): Transport {
  return {
    async call(call) {
      if (READS.has(call.verb) || random.next() >= rate) return await transport.call(call)
      if (call.verb !== 'create' && random.next() < 0.5) await transport.call(call)
      throw internalError('the connection was lost')
    },
    watch: (call) => transport.watch(call),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

const MAX_LAG = 30

/** Shows changes some turns of the event loop late, as a watch over a network does. */
export function laggingTransport(transport: Transport, random: Random): Transport {
  return {
    call: (call) => transport.call(call),
    async *watch(call) {
      for await (const events of transport.watch(call)) {
        for (let turns = Math.floor(random.next() * MAX_LAG); turns > 0; turns--) await new Promise(setImmediate)
        yield events
      }
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

/** A controller that can be killed and started again, that sees late and whose writes fail now and then. */
export class FaultyController implements AsyncDisposable {
  readonly #transport: Transport
  readonly #world: { clock: Clock; random: Random; log: typeof silentLogger }
  readonly #create: (context: ControllerContext) => Controller
  readonly #rate: number
  #running: { runner: ControllerRunner; informers: AsyncDisposable } | undefined

  constructor(
    transport: Transport,
    clock: Clock,
    random: Random,
    rate: number,
    create: (context: ControllerContext) => Controller,
  ) {
    this.#transport = transport
    this.#world = { clock, random, log: silentLogger }
    this.#rate = rate
    this.#create = create
  }

  /** Resolves when nothing is in work or on its way; what waits for a later time does not count. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 3 * MAX_LAG; quiet++) {
      await new Promise(setImmediate)
      if (this.#running?.runner.isBusy) quiet = 0
    }
  }

  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]()
    const informers = createInformerFactory({
      transport: laggingTransport(this.#transport, this.#world.random),
      ...this.#world,
    })
    const client = createClient(faultyTransport(this.#transport, this.#world.random, this.#rate))
    const context = { ...this.#world, client, informers, events: { event: () => {} } }
    const runner = await runControllers([this.#create(context)], this.#world)
    this.#running = { runner, informers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.runner[Symbol.asyncDispose]()
    await this.#running?.informers[Symbol.asyncDispose]()
    this.#running = undefined
  }
}
