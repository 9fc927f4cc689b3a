import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { Attach, Cp, Exec, KubeConfig, Log, PortForward, type V1Status } from 'kubernetes-client-node-1'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type StreamingNode, startStreamingNode } from './streaming-node.ts'

let node: StreamingNode
let folder: string
const config = new KubeConfig()

beforeAll(async () => {
  node = await startStreamingNode()
  await node.run('web')
  config.loadFromString(node.cluster.kubeconfig)
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-client-node-'))
})
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a command and gives what came of it. */
async function exec(command: string[], stdin: Readable | null = null) {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const status = new Promise<V1Status>((resolve, reject) => {
    new Exec(config).exec('default', 'web', 'main', command, stdout, stderr, stdin, false, resolve).catch(reject)
  })
  const ended = await status
  stdout.end()
  stderr.end()
  return { status: ended, stdout: await text(stdout), stderr: await text(stderr) }
}

test('Exec: output and success', async () => {
  const { status, stdout, stderr } = await exec(['sh', '-c', 'echo out; echo err >&2'])
  expect({ stdout, stderr }).toEqual({ stdout: 'out\n', stderr: 'err\n' })
  expect(status.status).toBe('Success')
})

test('Exec: exit code', async () => {
  const { status } = await exec(['sh', '-c', 'exit 9'])
  expect(status).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode' })
  expect(status.details?.causes).toEqual([{ reason: 'ExitCode', message: '9' }])
})

test('Exec: input', async () => {
  const { stdout } = await exec(['head', '-c', '5'], Readable.from([Buffer.from('hello and more')]))
  expect(stdout).toBe('hello')
})

test('a client that breaks off ends its command', async () => {
  const stdout = new PassThrough()
  const socket = await new Exec(config).exec(
    'default',
    'web',
    'main',
    ['sh', '-c', 'echo begun; sleep 1000'],
    stdout,
    null,
    null,
    false,
  )
  await once(stdout, 'data')
  socket.terminate?.()
  socket.close()
  while (!node.happened.includes('closed sh -c echo begun; sleep 1000'))
    await new Promise((resolve) => setImmediate(resolve))
})

test('Attach', async () => {
  const stdout = new PassThrough()
  const socket = await new Attach(config).attach('default', 'web', 'main', stdout, null, null, false)
  const [said] = await once(stdout, 'data')
  expect(String(said)).toBe('attached\n')
  socket.close()
})

test('Cp', async () => {
  const bytes = randomBytes(200_000)
  const [here, there] = [path.join(folder, 'here'), path.join(folder, 'there')]
  for (const dir of [here, there]) mkdirSync(dir)
  writeFileSync(path.join(here, 'file'), bytes)
  await new Cp(config).cpToPod('default', 'web', 'main', here, there)
  // It returns before the copy is there.
  const copied = () => existsSync(path.join(there, 'file')) && readFileSync(path.join(there, 'file'))
  for (let copy = copied(); !copy || copy.length < bytes.length; copy = copied()) await systemClock.sleep(10)
  expect(md5(readFileSync(path.join(there, 'file')))).toBe(md5(bytes))
})

test('PortForward: 4 MB there and back', async () => {
  const echo = await listening(createServer((socket) => socket.on('error', () => {}).pipe(socket)))
  const forward = new PortForward(config)
  const local = await listening(
    createServer((socket) => {
      socket.on('error', () => {})
      void forward.portForward('default', 'web', [portOf(echo)], socket, null, socket)
    }),
  )
  const bytes = randomBytes(4 * 1024 * 1024)
  const socket = connect(portOf(local), '127.0.0.1')
  const parts: Buffer[] = []
  socket.on('data', (part) => {
    parts.push(part)
    if (Buffer.concat(parts).length >= bytes.length) socket.end()
  })
  socket.write(bytes)
  await once(socket, 'close')
  expect(md5(Buffer.concat(parts))).toBe(md5(bytes))
  echo.close()
  local.close()
})

test('Log', async () => {
  const stream = new PassThrough()
  await new Log(config).log('default', 'web', 'main', stream, { tailLines: 1 })
  expect((await buffer(stream)).toString()).toBe('line 10\n')
})

async function listening(server: Server): Promise<Server> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}
const portOf = (server: Server) => (server.address() as AddressInfo).port
const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')
