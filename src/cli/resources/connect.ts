import type { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { type Client, createClient } from '../../client/client.ts'
import type { HttpTransport } from '../../client/http-transport.ts'
import { type Connection, connectionOf, kubeconfigPaths, loadKubeconfig } from '../../client/kubeconfig.ts'
import { adminKubeconfigPath, findServer, instanceOf } from '../../cluster/instance.ts'
import { UserError } from '../../cluster/user-error.ts'

export interface ConnectOptions {
  readonly name?: string
  readonly dataDir?: string
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

export const connectOptions = (command: Command) =>
  command
    .option('-n, --namespace <namespace>', "which namespace (default: the context's)")
    .option('--name <name>', 'which cluster of this machine (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')
    .option('--kubeconfig <file>', 'use this kubeconfig instead')
    .option('--context <context>', 'use this context of the kubeconfig instead')

export interface ApiAccess {
  /** What `http` was made of, for protocols that it does not speak. */
  readonly connection: Connection
  readonly http: HttpTransport
  readonly client: Client
  readonly namespace: string
}

/** Reaches the cluster that the options name and runs `work` with it; the connection is closed after. */
export async function withApi<T>(options: ConnectOptions, work: (api: ApiAccess) => Promise<T>): Promise<T> {
  const connection = await connectionOf(await loadKubeconfig(await configPaths(options)), options.context)
  // TLS and HTTP/2 are slow to load, and `up` and `down` need neither.
  const { createHttpTransport } = await import('../../client/http-transport.ts')
  const http = createHttpTransport({ ...connection, clock: systemClock, userAgent: 'sampan-cli' })
  try {
    return await work({
      connection,
      http,
      client: createClient(http),
      namespace: options.namespace ?? connection.namespace,
    })
  } finally {
    await http[Symbol.asyncDispose]()
  }
}

/** A cluster of this machine is reached by its own kubeconfig, whatever the user's current context is. */
async function configPaths(options: ConnectOptions): Promise<string[]> {
  if (options.kubeconfig !== undefined) return [options.kubeconfig]
  if (options.context !== undefined) return kubeconfigPaths()
  const instance = instanceOf(options)
  const server = await findServer(instance)
  if (server?.joinedAs) {
    throw new UserError(`this machine is only node ${server.joinedAs} of ${server.url}`, [
      'Use a kubeconfig of that cluster: --kubeconfig or --context',
    ])
  }
  if (!server) {
    throw new UserError(`cluster ${instance.name} is not running`, [
      'Start it: sampan up --detach',
      'Or name another one: --name, --context or --kubeconfig',
    ])
  }
  return [adminKubeconfigPath(instance)]
}
