import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { serveSocketFile } from '../../base/socket-file.ts'
import { socketPath } from '../../base/socket-path.ts'
import type { PartStatus } from '../part.ts'

/** What commands ask a running server, over a socket that only its owner can open. */
export interface ControlHandlers {
  snapshot(file: string): Promise<{ revision: number }>
  status(): Promise<ServerStatus>
}

export interface ServerStatus {
  readonly revision: number
  readonly residentBytes: number
  readonly uptimeSeconds: number
  readonly parts: readonly PartStatus[]
}

export const controlSocketPath = (dataDir: string) => socketPath(join(dataDir, 'control.sock'))

export const serveControl = (path: string, handlers: ControlHandlers) =>
  serveSocketFile(path, (socket) => void answer(socket, handlers))

async function answer(socket: Socket, handlers: ControlHandlers): Promise<void> {
  try {
    const [verb, argument = ''] = JSON.parse(await readLine(socket)) as [string, string?]
    if (verb === 'snapshot') socket.end(`${JSON.stringify({ answer: await handlers.snapshot(argument) })}\n`)
    else if (verb === 'status') socket.end(`${JSON.stringify({ answer: await handlers.status() })}\n`)
    else throw new Error(`unknown request ${verb}`)
  } catch (error) {
    socket.end(`${JSON.stringify({ error: (error as Error).message })}\n`)
  }
}

/** Asks the server behind the socket; rejects if none answers. */
export async function askControl<V extends keyof ControlHandlers>(
  path: string,
  verb: V,
  argument = '',
): Promise<Awaited<ReturnType<ControlHandlers[V]>>> {
  const socket = connect({ path })
  try {
    socket.write(`${JSON.stringify([verb, argument])}\n`)
    const reply = JSON.parse(await readLine(socket)) as { answer?: unknown; error?: string }
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.answer as Awaited<ReturnType<ControlHandlers[V]>>
  } finally {
    socket.destroy()
  }
}

async function readLine(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    if ((chunk as Buffer).includes(0x0a)) break
  }
  return Buffer.concat(chunks).toString()
}
