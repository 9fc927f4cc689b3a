import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { type BatchedOptions, listenBatched, type ReadyAnswers } from './batched/listen-batched.ts'
import type { Handler } from './handle.ts'
import { listenTcp } from './tcp.ts'
import { listenUdp } from './udp.ts'

export interface Listening extends AsyncDisposable {
  readonly port: number
  /** The answers that are kept ready for it. */
  readonly ready?: ReadyAnswers | undefined
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface ListenOptions {
  readonly handle: Handler
  readonly clock: Clock
  readonly log: Logger
  /** Whether a worker serves, where the system can do that; else Node's own sockets. */
  readonly byWorker: boolean
  readonly batched: BatchedOptions
}

/** Both transports on one port, as DNS has it. */
export async function listen(address: ListenAddress, options: ListenOptions): Promise<Listening> {
  const tcp = await listenTcp(address, options.handle, options.clock)
  try {
    const udp = await listenByUdp({ ...address, port: tcp.port }, options)
    return {
      port: tcp.port,
      ready: udp.ready,
      async [Symbol.asyncDispose]() {
        await Promise.all([tcp[Symbol.asyncDispose](), udp[Symbol.asyncDispose]()])
      },
    }
  } catch (error) {
    await tcp[Symbol.asyncDispose]()
    throw error
  }
}

async function listenByUdp(
  address: ListenAddress,
  { byWorker, batched, handle, log }: ListenOptions,
): Promise<Listening> {
  if (byWorker && process.platform === 'linux') {
    try {
      return await listenBatched(address, batched)
    } catch (error) {
      log.warn('DNS is served without batches', { error })
    }
  }
  return listenUdp(address, handle, batched)
}
