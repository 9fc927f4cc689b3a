import type { Clock } from '../../base/clock.ts'
import type { Handler } from './handle.ts'
import { listenTcp } from './tcp.ts'
import { listenUdp } from './udp.ts'

export interface Listening extends AsyncDisposable {
  readonly port: number
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Both transports on one port, as DNS has it. */
export async function listen(address: ListenAddress, handle: Handler, clock: Clock): Promise<Listening> {
  const tcp = await listenTcp(address, handle, clock)
  try {
    const udp = await listenUdp({ ...address, port: tcp.port }, handle)
    return {
      port: tcp.port,
      async [Symbol.asyncDispose]() {
        await Promise.all([tcp[Symbol.asyncDispose](), udp[Symbol.asyncDispose]()])
      },
    }
  } catch (error) {
    await tcp[Symbol.asyncDispose]()
    throw error
  }
}
