import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { type Random, seededRandom } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import { createInformerFactory, type InformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import { controllerIdentity } from '../cluster/identities.ts'
import type { Controller, ControllerContext } from '../controllers/controller.ts'
import { runControllers } from '../controllers/runner.ts'
import { openMemoryStore } from '../store/embedded.ts'

export interface ControlPlaneOptions {
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Logger
  readonly controllers?: readonly ((context: ControllerContext) => Controller)[]
}

/** A real API server in memory with the controllers under test, for their unit tests. */
export interface ControlPlane extends AsyncDisposable {
  readonly server: ApiServer
  readonly client: Client
  readonly informers: InformerFactory
  /** What controllers told, as `reason: message`. */
  readonly events: readonly string[]
  /** Resolves when no controller has anything to do any more. */
  settled(): Promise<void>
}

const ADMIN = { name: 'system:admin', groups: ['system:masters'] }
/** So many turns of the event loop without work mean that nothing is on its way from writer to watcher either. */
const QUIET_TURNS = 5

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { clock = systemClock, random = seededRandom(1), log = silentLogger } = options
  const store = await openMemoryStore()
  const server = await startApiServer({
    store,
    clock,
    random,
    log,
    serviceCidrs: ['10.96.0.0/16'],
    // Nobody is here to give namespaces their accounts, or to lift marks from volumes.
    disableAdmissionPlugins: ['ServiceAccount', 'StorageObjectInUseProtection'],
  })
  const transport = server.transport(ADMIN, 'test')
  const client = createClient(transport)
  const informers = createInformerFactory({ transport, clock, random, log })
  const events: string[] = []
  const context: ControllerContext = {
    client,
    informers,
    clock,
    random,
    log,
    events: { event: (_about, _type, reason, message) => events.push(`${reason}: ${message}`) },
  }
  const controllers = (options.controllers ?? []).map((create) => createAsItself(server, context, create))
  const runner = await runControllers(controllers, { clock, log })
  return {
    server,
    client,
    informers,
    events,
    async settled() {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
        await new Promise(setImmediate)
        if (runner.isBusy) quiet = -1
      }
    },
    async [Symbol.asyncDispose]() {
      await runner[Symbol.asyncDispose]()
      await informers[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}

/** A controller with the rights of its own service account: one that needs more fails here. Its name is known late. */
function createAsItself(
  server: ApiServer,
  context: ControllerContext,
  create: (context: ControllerContext) => Controller,
): Controller {
  let named: (transport: Transport) => void = () => {}
  const own = new Promise<Transport>((resolve) => {
    named = resolve
  })
  // Some controllers begin to watch while they are made, before they can be asked for their name.
  const transport: Transport = {
    call: async (call) => (await own).call(call),
    async *watch(call) {
      yield* (await own).watch(call)
    },
    async [Symbol.asyncDispose]() {},
  }
  const controller = create({ ...context, client: createClient(transport) })
  named(server.transport(controllerIdentity(controller.name), controller.name))
  return controller
}
