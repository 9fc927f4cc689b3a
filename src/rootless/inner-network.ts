/** The inner side: a network of its own, with a way out and a socket through which API requests enter. */
import { rm } from 'node:fs/promises'
import type { Logger } from '../base/log.ts'
import type { Linux } from '../linux/linux.ts'
import { startEgress } from './egress/inside.ts'
import { apiSocketPath, egressSocketPath, type Forwarder, forward } from './sockets.ts'

export interface InnerNetworkOptions {
  readonly dataDir: string
  readonly linux: Linux
  /** Address ranges that stay inside: pods, Services, nodes. */
  readonly inside: readonly string[]
  readonly log: Logger
}

export interface InnerNetwork extends AsyncDisposable {
  /** Resolves when the outer process has gone, unless this side went first. */
  readonly abandoned: Promise<void>
  /** Lets connections from outside reach the API server at this port of loopback. */
  admit(apiPort: number): Promise<void>
  /** Lets no more connections in. */
  close(): void
}

const LOOPBACK = '127.0.0.1'

/** Opens the way out. Where the kernel lacks something for it, pods reach each other only, and the log says why. */
export async function openInnerNetwork({ dataDir, ...options }: InnerNetworkOptions): Promise<InnerNetwork> {
  const path = apiSocketPath(dataDir)
  const egress = await startEgress({ ...options, path: egressSocketPath(dataDir) })
  let entrance: Forwarder | undefined
  return {
    abandoned: egress.abandoned,
    async admit(port) {
      await rm(path, { force: true })
      entrance = await forward({ path }, { host: LOOPBACK, port })
    },
    close: () => entrance?.[Symbol.dispose](),
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]()
      await rm(path, { force: true })
    },
  }
}
