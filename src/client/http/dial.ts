import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { unlessAborted } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { HttpConnection, ServerAddress } from './connection.ts'
import { http1Connection } from './http1-connection.ts'
import { http2Connection } from './http2-connection.ts'

const CONNECT_TIMEOUT = 30_000

/**
 * Connects in the way the server prefers: HTTP/2 if it agrees by ALPN, else HTTP/1.1. Asked at the first request.
 * Disposing ends what is being connected; nothing is connected after it.
 */
export function negotiatedConnection(server: ServerAddress, clock: Clock): HttpConnection {
  let chosen: Promise<HttpConnection> | undefined
  const stop = new AbortController()
  const choose = async () => {
    if (server.url.protocol === 'http:') return http1Connection(server)
    const first = await dialTls(server, clock, stop.signal)
    if (first.alpnProtocol !== 'h2') {
      first.destroy()
      return http1Connection(server)
    }
    let unused: TLSSocket | undefined = first
    const dial = async () => {
      const socket = unused
      unused = undefined
      return socket && !socket.destroyed ? socket : dialTls(server, clock, stop.signal)
    }
    return http2Connection(server.url, dial, clock)
  }
  return {
    async request(request) {
      chosen ??= choose().catch((error: unknown) => {
        chosen = undefined
        throw error
      })
      const connection = await unlessAborted(chosen, request.signal)
      return connection.request(request)
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      const connection = await chosen?.catch(() => undefined)
      await connection?.[Symbol.asyncDispose]()
    },
  }
}

function dialTls(server: ServerAddress, clock: Clock, stop: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const host = server.url.hostname.replace(/^\[|\]$/g, '')
    const socket = connect({
      host,
      port: Number(server.url.port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      ...server.tls,
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    const giveUp = () => socket.destroy(new Error(`no connection to ${server.url.host}`))
    const timer = clock.after(CONNECT_TIMEOUT, giveUp)
    if (stop.aborted) giveUp()
    else stop.addEventListener('abort', giveUp, { once: true })
    const settle = (outcome: () => void) => {
      timer.cancel()
      stop.removeEventListener('abort', giveUp)
      socket.removeListener('error', onError)
      outcome()
    }
    const onError = (error: Error) => settle(() => reject(error))
    socket.once('error', onError)
    socket.once('secureConnect', () => settle(() => resolve(socket)))
    socket.setNoDelay(true)
  })
}
