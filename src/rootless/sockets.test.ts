import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiSocketPath, egressSocketPath, forward, isListening } from './sockets.ts'

let folder: string
let echo: Server
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sampan-sockets-'))
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
  echo.listen(join(folder, 'echo.sock'))
  await once(echo, 'listening')
})
afterEach(() => {
  echo.close()
  rmSync(folder, { recursive: true, force: true })
})

const target = () => ({ path: join(folder, 'echo.sock') })

describe('forward', () => {
  it('carries a connection from a port to a path, with the half that ends first', async () => {
    using forwarder = await forward({ host: '127.0.0.1', port: 0 }, target())
    const socket = connect({ host: '127.0.0.1', port: forwarder.port, allowHalfOpen: true })
    socket.end('hello')
    expect(await text(socket)).toBe('hello')
  })

  it('accepts no connection once it is disposed', async () => {
    const path = join(folder, 'front.sock')
    const forwarder = await forward({ path }, target())
    expect(forwarder.port).toBe(0)
    expect(await isListening(path)).toBe(true)
    forwarder[Symbol.dispose]()
    expect(await isListening(path)).toBe(false)
  })

  it('ends a connection whose target is not there', async () => {
    using forwarder = await forward({ host: '127.0.0.1', port: 0 }, { path: join(folder, 'none') })
    const socket = connect(forwarder.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'close')
  })

  it('rejects an address that is taken', async () => {
    await expect(forward(target(), target())).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

it('keeps both sockets in the data directory', () => {
  expect(apiSocketPath('/data')).toBe('/data/api.sock')
  expect(egressSocketPath('/data')).toBe('/data/egress.sock')
})
