import type { IncomingMessage } from 'node:http'
import type { Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Carries the body of a backend's answer to a client. What goes wrong on the way breaks the answer off, so that it is not
 * taken for a whole one. A client that leaves ends the connection to the backend.
 */
export async function carryAnswer(
  response: IncomingMessage,
  out: Writable,
  through: readonly Transform[] = [],
): Promise<void> {
  // Answers without a body have ended by now.
  if (out.destroyed) return void response.resume()
  try {
    await pipeline([response, ...through, out])
  } catch {
    // The status has been sent: breaking off is all that is left to tell.
  }
}
