import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { systemClock } from '../base/clock.ts'
import { acceptRemoteCommand, type CommandStatus, dialRemoteCommand } from './remote-command.ts'

const SUCCESS: CommandStatus = { metadata: {}, status: 'Success' }
const FAILURE: CommandStatus = {
  metadata: {},
  status: 'Failure',
  message: 'it ended with 3',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: '3' }] },
}
const ALL = { stdin: true, stdout: true, stderr: true, tty: false }

let url: string
let seen: string[]
let stop: () => void

/** Gives back what it gets, in capitals, and then fails if it was told to. */
beforeEach(async () => {
  seen = []
  const server = createServer()
  server.on('upgrade', (request, socket, head) => void serve({ request, socket, head }))
  async function serve(upgrade: Parameters<typeof acceptRemoteCommand>[0]) {
    const query = new URL(upgrade.request.url ?? '', 'http://x').searchParams
    const tty = query.has('tty')
    const streams = await acceptRemoteCommand(upgrade, { ...ALL, stderr: !tty, tty }, systemClock)
    if (!streams) return
    void streams.closed.then(() => seen.push('closed'))
    streams.onResize(({ width, height }) => seen.push(`${width}x${height}`))
    const status = query.has('fail') ? FAILURE : SUCCESS
    streams.stderr?.write('warned')
    streams.stdin?.on('data', (chunk) => {
      streams.stdout?.write(String(chunk).toUpperCase())
      if (String(chunk).includes('.')) void streams.finish(status)
    })
    streams.stdin?.on('end', () => void streams.finish(status))
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `127.0.0.1:${(server.address() as AddressInfo).port}`
  stop = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterEach(() => stop())

describe('WebSocket', () => {
  /** Talks to the server and tells what came on each channel. */
  async function talk(protocols: string[], path: string, messages: (string | Buffer)[]) {
    const socket = new WebSocket(`ws://${url}${path}`, protocols)
    const channels: Record<string, string> = {}
    socket.on('message', (data: Buffer, isBinary) => {
      const channel = isBinary ? String(data[0]) : data.toString('latin1', 0, 1)
      const said = isBinary ? data.subarray(1) : Buffer.from(data.toString('latin1').slice(1), 'base64')
      channels[channel] = (channels[channel] ?? '') + said.toString()
    })
    await once(socket, 'open')
    for (const message of messages) socket.send(message)
    const [code] = await once(socket, 'close')
    return { protocol: socket.protocol, code, channels }
  }
  const bytes = (...parts: (number | string)[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))))
  const status = JSON.stringify(SUCCESS)

  test.each<[name: string, offered: string[], chosen: string, message: string | Buffer, error: string | undefined]>([
    ['v5', ['v5.channel.k8s.io'], 'v5.channel.k8s.io', bytes(0, 'hi.'), status],
    ['the first known one', ['v9.channel.k8s.io', 'v4.channel.k8s.io'], 'v4.channel.k8s.io', bytes(0, 'hi.'), status],
    ['v4 in base64', ['v4.base64.channel.k8s.io'], 'v4.base64.channel.k8s.io', `0${btoa('hi.')}`, status],
    ['the plain one', ['channel.k8s.io'], 'channel.k8s.io', bytes(0, 'hi.'), undefined],
    ['the plain one in base64', ['base64.channel.k8s.io'], 'base64.channel.k8s.io', `0${btoa('hi.')}`, undefined],
    ['none', [], '', bytes(0, 'hi.'), undefined],
  ])('%s', async (_, offered, chosen, message, error) => {
    const { protocol, code, channels } = await talk(offered, '/', [message])
    expect(protocol).toBe(chosen)
    expect(code).toBe(1000)
    expect(channels).toEqual({ 1: 'HI.', 2: 'warned', ...(error && { 3: error }) })
  })

  test('v5 ends the input by a message', async () => {
    const { channels } = await talk(['v5.channel.k8s.io'], '/', [bytes(0, 'hi'), bytes(255, 0)])
    expect(channels[1]).toBe('HI')
  })

  test('before v4 a failure is a sentence', async () => {
    const { channels } = await talk(['channel.k8s.io'], '/?fail', [bytes(0, '.')])
    expect(channels[3]).toBe('it ended with 3')
  })

  test('sizes of the terminal', async () => {
    await talk(['v5.channel.k8s.io'], '/?tty', [bytes(4, '{"Width":80,"Height":24}'), bytes(4, '{}'), bytes(0, '.')])
    expect(seen).toContain('80x24')
  })

  test('a protocol that nobody knows is refused', async () => {
    const socket = new WebSocket(`ws://${url}/`, ['v9.channel.k8s.io'])
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toContain('403')
  })
})

describe('SPDY', () => {
  test('input, output, errors and the end', async () => {
    const command = await dialRemoteCommand(`http://${url}/`, ALL)
    command.stdin!.end('hello')
    expect(await Promise.all([text(command.stdout!), text(command.stderr!), command.exited])).toEqual([
      'HELLO',
      'warned',
      0,
    ])
  })

  test('the exit code', async () => {
    const command = await dialRemoteCommand(`http://${url}/?fail`, ALL)
    command.stdout!.resume()
    command.stdin!.end()
    expect(await command.exited).toBe(3)
  })

  test('a terminal has a size and no errors of its own', async () => {
    const command = await dialRemoteCommand(`http://${url}/?tty`, { ...ALL, tty: true })
    expect(command.stderr).toBeUndefined()
    command.stdout!.resume()
    await command.resize({ width: 132, height: 43 })
    command.stdin!.end('.')
    await command.exited
    expect(seen).toContain('132x43')
  })

  test('a client that leaves is noticed', async () => {
    const command = await dialRemoteCommand(`http://${url}/`, ALL)
    await once(command.stderr!, 'data')
    await command.close()
    await expect(command.exited).rejects.toThrow('the connection closed before the command ended')
    while (!seen.includes('closed')) await new Promise((resolve) => setImmediate(resolve))
  })

  test('no upgrade, no command', async () => {
    const plain = createServer((_, response) => response.writeHead(404).end('pod not found'))
    await once(plain.listen(0, '127.0.0.1'), 'listening')
    const { port } = plain.address() as AddressInfo
    await expect(dialRemoteCommand(`http://127.0.0.1:${port}/`, ALL)).rejects.toThrow('404 pod not found')
    plain.close()
  })
})
