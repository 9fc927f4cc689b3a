import { request } from 'node:https'
import { connect } from 'node:net'
import type { Credentials } from './inspected.ts'

const PATIENCE_MS = 5000

export interface HttpsAnswer {
  readonly status: number
  readonly body: string
}

export interface HttpsQuestion {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Asks any HTTPS server, trusted or not; undefined if it does not answer. */
export function askHttps(
  url: string,
  { cert, key }: Credentials = {},
  { method = 'GET', headers = {}, body }: HttpsQuestion = {},
): Promise<HttpsAnswer | undefined> {
  return new Promise((resolve) => {
    const options = { method, headers, cert, key, rejectUnauthorized: false, agent: false, timeout: PATIENCE_MS }
    const outgoing = request(url, options, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', () => resolve(undefined))
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(undefined))
    outgoing.end(body)
  })
}

/** Whether something listens there. */
export function isPortOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PATIENCE_MS })
    const answer = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.on('connect', () => answer(true))
    socket.on('timeout', () => answer(false))
    socket.on('error', () => answer(false))
  })
}
