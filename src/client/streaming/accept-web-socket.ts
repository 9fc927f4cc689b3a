import type { WebSocket } from 'ws'
import type { Upgrade } from './upgrade.ts'

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024

/** Undefined if the handshake is not valid; then it was refused. */
export async function acceptWebSocket(
  { request, socket, head }: Upgrade,
  protocol: string,
): Promise<WebSocket | undefined> {
  // Loaded by the first who needs it: a server starts without.
  const { WebSocketServer } = await import('ws')
  if (socket.destroyed) return undefined
  return new Promise((resolve) => {
    // Names with a slash, such as SPDY/3.1+portforward.k8s.io, are against the letter of RFC 6455, and ws refuses them.
    delete request.headers['sec-websocket-protocol']
    const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: MAX_MESSAGE_BYTES })
    if (protocol !== '') server.on('headers', (headers) => headers.push(`Sec-WebSocket-Protocol: ${protocol}`))
    socket.once('close', () => resolve(undefined))
    server.handleUpgrade(request, socket, head, (accepted) => {
      accepted.on('error', () => accepted.terminate())
      resolve(accepted)
    })
  })
}
