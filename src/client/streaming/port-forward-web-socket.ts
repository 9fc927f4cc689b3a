import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { ConnectPort } from './port-forward-spdy.ts'
import { type ChannelEncoding, WebSocketChannels } from './web-socket-channels.ts'

export const PORT_FORWARD_CHANNELS: Readonly<Record<string, ChannelEncoding>> = {
  '': { isBase64: false, canHalfClose: false },
  'v4.channel.k8s.io': { isBase64: false, canHalfClose: false },
  'v4.base64.channel.k8s.io': { isBase64: true, canHalfClose: false },
}

/**
 * The old form: the ports are known beforehand, each has two channels (data, errors), and each channel begins with its
 * port. One connection per port is all there is.
 */
export async function forwardChannels(
  socket: WebSocket,
  encoding: ChannelEncoding,
  ports: readonly number[],
  connect: ConnectPort,
): Promise<void> {
  const channels = new WebSocketChannels(socket, encoding)
  const readers = ports.map((_, i) => channels.reader(2 * i))
  await Promise.all(
    ports.map(async (port, i) => {
      const number = Buffer.alloc(2)
      number.writeUInt16LE(port)
      const data = channels.writer(2 * i)
      const errors = channels.writer(2 * i + 1)
      data.write(number)
      errors.write(number)
      try {
        const backend = await connect(port)
        void channels.closed.then(() => backend.destroy())
        readers[i]!.pipe(backend)
        await until(backend, (chunk) => data.write(chunk), data)
      } catch (failure) {
        errors.write(failure instanceof Error ? failure.message : String(failure))
      }
    }),
  )
  channels.close()
}

/** Hands on what the backend says until it has said everything. */
function until(backend: Duplex, write: (chunk: Buffer) => boolean, target: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    backend.on('data', (chunk: Buffer) => {
      if (!write(chunk)) backend.pause()
    })
    target.on('drain', () => backend.resume())
    backend.on('error', reject)
    backend.on('close', () => resolve())
  })
}
