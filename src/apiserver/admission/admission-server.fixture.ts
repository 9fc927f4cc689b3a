import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { type Client, createClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../server.ts'

export interface AdmissionServer extends AsyncDisposable {
  readonly server: ApiServer
  readonly client: Client
}

/** A real API server in memory. Nobody makes service accounts there, so pods need none unless told otherwise. */
export async function startAdmissionServer(options: Partial<ApiServerOptions> = {}): Promise<AdmissionServer> {
  const store = await openMemoryStore()
  const parts = { store, clock: systemClock, random: seededRandom(1), log: silentLogger }
  const defaults = { serviceCidrs: ['10.96.0.0/16'], disableAdmissionPlugins: ['ServiceAccount'] }
  const server = await startApiServer({ ...parts, ...defaults, ...options })
  return {
    server,
    client: createClient(server.transport({ name: 'admin', groups: ['system:masters'] }, 'test')),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}
