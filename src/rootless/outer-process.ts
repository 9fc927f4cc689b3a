/** The outer process: an ordinary one of the user. It forwards the API port inside and carries traffic outside. */
import type { Clock } from '../base/clock.ts'
import { spawnInUserNamespace } from '../linux/user-namespace.ts'
import { NAMESERVER } from './egress/link-addresses.ts'
import { serveOutside } from './egress/outside.ts'
import { apiSocketPath, egressSocketPath, forward, isListening } from './sockets.ts'

export interface InnerProcessOptions {
  readonly dataDir: string
  /** Where the API is reached outside, on loopback; 0 for any free port. */
  readonly apiPort: number
  /** What Node runs inside, once the port is known. */
  readonly args: (apiPort: number) => readonly string[]
  readonly clock: Clock
}

/** The process inside the user namespace. Disposing it stops that process and waits for its end. */
export interface InnerProcess extends AsyncDisposable {
  /** Resolves when the inner process has ended. */
  readonly ended: Promise<void>
  /** Whether connections to the API reach it. */
  isReachable(): Promise<boolean>
}

/** The name server to use inside. */
export const INNER_NAMESERVER = NAMESERVER
const LOOPBACK = '127.0.0.1'

/** Starts a process in a user namespace. Throws `UserNamespaceForbidden` where the system does not allow one. */
export async function startInnerProcess(options: InnerProcessOptions): Promise<InnerProcess> {
  const { dataDir, clock } = options
  const path = apiSocketPath(dataDir)
  const forwarder = await forward({ host: LOOPBACK, port: options.apiPort }, { path })
  const egress = await serveOutside(egressSocketPath(dataDir), clock)
  const close = async () => {
    forwarder[Symbol.dispose]()
    await egress[Symbol.asyncDispose]()
  }
  try {
    const child = await spawnInUserNamespace(process.execPath, options.args(forwarder.port), environment())
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    return {
      ended,
      isReachable: () => isListening(path),
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM')
        await ended
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

const environment = () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
