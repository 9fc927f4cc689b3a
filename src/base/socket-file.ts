import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { removeSocket } from './socket-path.ts'

/** Serves a socket file that only this user may open; replaces one that a dead process left. */
export async function serveSocketFile(path: string, serve: (socket: Socket) => void): Promise<AsyncDisposable> {
  await rm(path, { force: true })
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => {})
    serve(socket)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path, readableAll: false, writableAll: false }, resolve)
  })
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
      removeSocket(path)
    },
  }
}
