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

/** Loses some writes before they happen, and the answers of some others. */
export function faultyTransport(transport: Transport, random: Random, rate: number): Transport {
  return {
    async call(call) {
      if (READS.has(call.verb) || random.next() >= rate) return await transport.call(call)
      if (random.next() < 0.5) await transport.call(call)
      throw internalError('the connection was lost')
    },
    watch: (call) => transport.watch(call),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

/** A controller that can be killed and started again, and whose writes fail now and then. */
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

  get isBusy(): boolean {
    return this.#running?.runner.isBusy ?? false
  }

  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]()
    const informers = createInformerFactory({ transport: this.#transport, ...this.#world })
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
