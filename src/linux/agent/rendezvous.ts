import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { removeSocket } from '../../base/socket-path.ts'

export interface Rendezvous extends AsyncDisposable {
  /** sockaddr_un of where agents come to. */
  readonly address: Buffer
  /** The next agent that says this token gets this socket. */
  expect(): { readonly token: Buffer; readonly socket: Promise<Socket> }
  /** It will not come. */
  forget(token: Buffer, reason: Error): void
}

interface Expected {
  resolve(socket: Socket): void
  reject(error: Error): void
}

const TOKEN_LENGTH = 8
const AF_UNIX = 1

/** A socket in a folder that only this user may enter, so a token needs no secret. */
export async function listenForAgents(path: string): Promise<Rendezvous> {
  rmSync(path, { force: true })
  const expected = new Map<bigint, Expected>()
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    greet(socket, expected)
  })
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(path, resolve))
  server.unref()
  let last = 0n
  return {
    address: unixAddress(path),
    expect() {
      const token = Buffer.alloc(TOKEN_LENGTH)
      token.writeBigUInt64LE(++last)
      const key = last
      const socket = new Promise<Socket>((resolve, reject) => expected.set(key, { resolve, reject }))
      server.ref()
      const settled = () => {
        if (expected.size === 0) server.unref()
      }
      socket.then(settled, settled)
      return { token, socket }
    },
    forget(token, reason) {
      const key = token.readBigUInt64LE()
      expected.get(key)?.reject(reason)
      expected.delete(key)
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const { reject } of expected.values()) reject(new Error('closed'))
        server.close(() => {
          removeSocket(path)
          resolve()
        })
        for (const socket of open) socket.destroy()
      }),
  }
}

function greet(socket: Socket, expected: Map<bigint, Expected>): void {
  socket.on('error', () => {})
  const onReadable = () => {
    const token: Buffer | null = socket.read(TOKEN_LENGTH)
    if (token === null) return
    socket.off('readable', onReadable)
    const key = token.readBigUInt64LE()
    const waiting = expected.get(key)
    expected.delete(key)
    if (waiting) waiting.resolve(socket)
    else socket.destroy()
  }
  socket.on('readable', onReadable)
}

function unixAddress(path: string): Buffer {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1)
  if (address.length > 110) throw new Error(`the path of a socket is too long: ${path}`)
  address.writeUInt16LE(AF_UNIX, 0)
  address.write(path, 2)
  return address
}
