import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import type { Handler } from './handle.ts'
import type { Listening } from './listen.ts'

/** Serves by UDP with Node's own sockets. */
export async function listenUdp(
  address: { readonly host: string; readonly port: number },
  handle: Handler,
): Promise<Listening> {
  const family = address.host.includes(':') ? 6 : 4
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    ...(family === 6 && { ipv6Only: true }),
    recvBufferSize: 1 << 20,
    // Answers go to addresses, never to names: looking them up would cost a quarter of the time.
    lookup: (host, _, callback) => callback(null, host, family),
  })
  socket.on('message', (packet, from) => {
    const answer = handle(packet, { client: from.address, transport: 'udp' })
    if (answer instanceof Promise)
      void answer.then((late) => late && socket.send(late, from.port, from.address, ignore))
    else if (answer) socket.send(answer, from.port, from.address, ignore)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(address.port, address.host, () => {
      socket.off('error', reject)
      // A client that is gone by now (ICMP port unreachable) is no reason to stop.
      socket.on('error', ignore)
      resolve()
    })
  })
  return {
    port: (socket.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

const ignore = () => {}
