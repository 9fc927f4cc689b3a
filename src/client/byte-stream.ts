import { Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import { acceptWebSocket } from './streaming/accept-web-socket.ts'
import { offeredProtocols, refuseProtocols, type Upgrade } from './streaming/upgrade.ts'

/** Whether the bytes go as text, for those who cannot read others. */
const IS_BASE64: Readonly<Record<string, boolean>> = {
  '': false,
  'binary.k8s.io': false,
  'base64.binary.k8s.io': true,
}

/**
 * The server's side of one stream of bytes over a WebSocket, such as a log: what is written goes to the client, and the
 * end closes the connection. Undefined if nothing comes of it; then the client has been told.
 */
export async function acceptByteStream(upgrade: Upgrade): Promise<Writable | undefined> {
  const offered = offeredProtocols(upgrade)
  const protocol = offered.length === 0 ? '' : offered.find((one) => Object.hasOwn(IS_BASE64, one))
  if (protocol === undefined) {
    refuseProtocols(upgrade, Object.keys(IS_BASE64).filter(Boolean))
    return undefined
  }
  const socket = await acceptWebSocket(upgrade, protocol)
  return socket && writerOf(socket, IS_BASE64[protocol] === true)
}

function writerOf(socket: WebSocket, isBase64: boolean): Writable {
  const writer = new Writable({
    write: (chunk: Buffer, _, done) =>
      socket.send(isBase64 ? chunk.toString('base64') : chunk, { binary: !isBase64 }, done),
    final(done) {
      socket.close()
      done()
    },
    destroy(error, done) {
      if (error) socket.terminate()
      done(error)
    },
  })
  writer.on('error', () => {})
  socket.once('close', () => writer.destroy())
  return writer
}
