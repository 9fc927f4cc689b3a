import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { AsyncDisposables } from '../../src/base/async-disposables.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { type Random, seededRandom } from '../../src/base/random.ts'
import { VirtualClock } from '../../src/base/virtual-clock.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { ApiCall, Transport } from '../../src/client/transport.ts'
import { loadCertificates } from '../../src/cluster/certificates.ts'
import { ControlPlane } from '../../src/cluster/control-plane/control-plane.ts'
import { CONTROL_LOOPS } from '../../src/cluster/control-plane/parts.ts'
import { Parts } from '../../src/cluster/part.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import type { Store } from '../../src/store/store.ts'

const ADMIN = { name: 'admin', groups: ['system:masters', 'system:authenticated'] }
const NODES = 2
const certificates = loadCertificates({ clock: systemClock, serverNames: ['localhost'] })

/** The control plane dies at one of its writes: before it, or after it and before the answer. */
class Death {
  isDead = false
  #left: number
  readonly #isWritten: boolean

  constructor(writes: number, isWritten: boolean) {
    this.#left = writes
    this.#isWritten = isWritten
  }

  through(transport: Transport): Transport {
    return {
      call: (call) => this.#call(transport, call),
      watch: (call) => transport.watch(call),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }
  }

  async #call(transport: Transport, call: ApiCall) {
    if (isRead(call)) return transport.call(call)
    if (this.isDead) throw new Error('the control plane is dead')
    if (!isWork(call) || --this.#left > 0) return transport.call(call)
    this.isDead = true
    if (this.#isWritten) await transport.call(call)
    throw new Error('the control plane died')
  }
}

/** What the dead read does not matter, and lets them come to an end. */
const isRead = ({ verb }: ApiCall) => verb === 'get' || verb === 'list'
/** Heartbeats and reports move nothing. */
const isWork = ({ resource }: ApiCall) => resource.plural !== 'leases' && resource.plural !== 'events'

/** One store, one time, and a control plane that may die and be started again on them. */
export class RestartingCluster implements AsyncDisposable {
  readonly clock = new VirtualClock()
  readonly #store: Store
  readonly #random: Random
  /** After how many writes each life ends; the last one does not. */
  readonly #lives: number[]
  #stack = new AsyncDisposables()
  #plane: ControlPlane | undefined
  #server: ApiServer | undefined
  #death = new Death(Number.POSITIVE_INFINITY, false)
  restarts = 0

  static async start(seed: number, lives: readonly number[]): Promise<RestartingCluster> {
    const cluster = new RestartingCluster(await openMemoryStore(), seed, lives)
    await cluster.#revive()
    return cluster
  }

  private constructor(store: Store, seed: number, lives: readonly number[]) {
    this.#store = store
    this.#random = seededRandom(seed)
    this.#lives = [...lives]
  }

  get client(): Client {
    return createClient(this.#server!.transport(ADMIN))
  }

  /** Moves time on, from timer to timer; whenever the control plane dies it is started again at once. */
  async advance(milliseconds: number): Promise<void> {
    const until = this.clock.now() + milliseconds
    await this.#quiet()
    for (let due = this.clock.nextDue; due !== undefined && due <= until; due = this.clock.nextDue) {
      this.clock.advance(Math.max(0, due - this.clock.now()))
      await this.#quiet()
    }
    this.clock.advance(Math.max(0, until - this.clock.now()))
    await this.#quiet()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.dispose()
    await this.#store[Symbol.asyncDispose]()
  }

  async #quiet(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      await new Promise(setImmediate)
      if (this.#death.isDead) await this.#restart()
      const { controllers, scheduler, simulatedNodes } = this.#plane!
      if ([controllers, scheduler, simulatedNodes?.simulated].some((part) => part?.isBusy)) turn = -1
    }
  }

  async #restart(): Promise<void> {
    await this.#stack.dispose()
    this.restarts++
    await this.#revive()
  }

  async #revive(): Promise<void> {
    const { clock } = this
    for (;;) {
      this.#death = new Death(this.#lives.shift() ?? Number.POSITIVE_INFINITY, this.#random.next() < 0.5)
      this.#stack = new AsyncDisposables()
      const log = silentLogger
      const parts = { store: this.#store, clock, random: this.#random, log }
      const server = this.#stack.use(await startApiServer({ ...parts, serviceCidrs: ['10.96.0.0/16'] }))
      this.#server = server
      const death = this.#death
      const apiServer: ApiServer = { ...server, transport: (user) => death.through(server.transport(user)) }
      const plane = await ControlPlane.prepare({ ...parts, store: { type: 'memory' }, nodes: NODES, listen: false })
      this.#plane = Object.assign(plane, { apiServer, certificates })
      try {
        await this.#stack.use(new Parts(CONTROL_LOOPS, plane, parts)).start()
        return
      } catch (error) {
        // It may die while it starts.
        if (!death.isDead) throw error
        await this.#stack.dispose()
        this.restarts++
      }
    }
  }
}
