import { request as requestHttp } from 'node:http'
import type { Duplex } from 'node:stream'
import { type BackendAnswer, type OutgoingRequest, sendRequest } from './send-request.ts'

/** Whom a request is handed on to. */
export interface Backend {
  /** As it stands in error messages: `https://10.0.0.1:10250`. */
  readonly origin: string
  dial(signal: AbortSignal): Promise<Duplex>
}

/** Asks a backend on a connection of its own; the connection ends with the signal. */
export async function askBackend(
  backend: Backend,
  asked: OutgoingRequest,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  const connection = await backend.dial(signal)
  // An error can come before the request listens for it, and after the request has ended.
  connection.on('error', () => connection.destroy())
  return sendRequest((options) => requestHttp({ ...options, createConnection: () => connection }), asked, signal)
}
