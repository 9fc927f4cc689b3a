import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../tools/cluster.ts'
import { KUBECTL_VERSIONS, kubectl, kubectlRunsHere } from '../tools/kubectl.ts'
import { type StreamingNode, startStreamingNode } from './streaming-node.ts'

let node: StreamingNode
let folder: string
let env: NodeJS.ProcessEnv
let echo: Server

beforeAll(async () => {
  node = await startStreamingNode()
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-streaming-test-'))
  writeFileSync(path.join(folder, 'kubeconfig'), node.cluster.kubeconfig)
  env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }
  await node.run('web')
  await node.run('two', {
    containers: [
      { name: 'a', image: 'busybox' },
      { name: 'b', image: 'busybox' },
    ],
  })
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(echo, 'listening')
})

afterAll(async () => {
  echo?.close()
  await node?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  let binary: string
  beforeAll(async () => {
    binary = await kubectl(version)
  })
  const run = (args: readonly string[], input?: string) =>
    runProgram(binary, args, env, { cwd: folder, ...(input !== undefined && { input }) })

  test('exec: output, errors and exit code', async () => {
    const ran = await run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    expect(ran.stdout).toBe('out\n')
    expect(ran.stderr).toBe('err\ncommand terminated with exit code 7\n')
    expect(ran.code).toBe(7)
  })

  test('exec -i: input ends and so does the command', async () => {
    const ran = await run(['exec', '-i', 'web', '--', 'cat'], 'hello\n')
    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n' })
  })

  test('exec -i: a megabyte there and back', async () => {
    const text = randomBytes(512 * 1024).toString('hex')
    const ran = await run(['exec', '-i', 'web', '--', 'cat'], text)
    expect(ran.code).toBe(0)
    expect(md5(ran.stdout)).toBe(md5(text))
  })

  test('exec -it: a terminal of the size of ours', async () => {
    const before = node.happened.length
    const line = `stty rows 33 cols 99; ${binary} exec -it web -- sh -c 'tty; sleep 0.5'`
    const ran = await runProgram('script', ['-qec', line, '/dev/null'], { ...env, TERM: 'xterm' }, { cwd: folder })
    expect(ran.stdout).toMatch(/\/dev\/pts\/\d+/)
    expect(ran.code).toBe(0)
    expect(node.happened.slice(before)).toContain('resize 99x33')
  })

  test('a command that is not there', async () => {
    const ran = await run(['exec', 'web', '--', '/no/such/program'])
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('ENOENT')
  })

  test('a container that is not there', async () => {
    const ran = await run(['exec', 'two', '-c', 'x', '--', 'true'])
    expect(ran.stderr).toContain('container x is not valid for pod two')
  })

  test('cp both ways', async () => {
    const bytes = randomBytes(300_000)
    const there = path.join(folder, `there-${version}`)
    writeFileSync(path.join(folder, 'here'), bytes)
    expect(await run(['cp', 'here', `web:${there}`])).toMatchObject({ code: 0 })
    expect(md5(readFileSync(there))).toBe(md5(bytes))
    expect(await run(['cp', `web:${there}`, `back-${version}`])).toMatchObject({ code: 0 })
    expect(md5(readFileSync(path.join(folder, `back-${version}`)))).toBe(md5(bytes))
  })

  test('attach', async () => {
    const ran = await run(['attach', '-i', 'web', '-c', 'main'], 'typed\n')
    expect(ran.stdout).toContain('attached\n')
  })

  test('port-forward: 4 MB each way', async () => {
    const { port } = echo.address() as AddressInfo
    const forwarding = spawn(binary, ['port-forward', 'web', `:${port}`], { env, cwd: folder })
    try {
      const [line] = (await once(forwarding.stdout, 'data')) as [Buffer]
      const local = Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1])
      const bytes = randomBytes(4 * 1024 * 1024)
      const results = await Promise.all([1, 2, 3].map(() => sendAndReceive(local, bytes)))
      for (const result of results) expect(md5(result)).toBe(md5(bytes))
    } finally {
      forwarding.kill('SIGKILL')
      await once(forwarding, 'close')
    }
  })

  test('port-forward: nobody listens', async () => {
    const forwarding = spawn(binary, ['port-forward', 'web', ':1'], { env, cwd: folder })
    try {
      let told = ''
      forwarding.stderr.on('data', (chunk) => {
        told += chunk
      })
      const [line] = (await once(forwarding.stdout, 'data')) as [Buffer]
      const local = Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1])
      expect(await sendAndReceive(local, Buffer.from('x'))).toHaveLength(0)
      while (!told.includes('ECONNREFUSED')) await once(forwarding.stderr, 'data')
      expect(told).toContain('error forwarding port 1 to pod')
    } finally {
      forwarding.kill('SIGKILL')
      await once(forwarding, 'close')
    }
  })

  test.each<[args: string, expected: string | RegExp]>([
    ['logs web --tail=2', 'line 9\nline 10\n'],
    ['logs web --tail=0', ''],
    ['logs web --limit-bytes=6', 'line 1'],
    ['logs web --tail=1 --timestamps', /^\d{4}-\d\d-\d\dT[\d:.]+Z line 10\n$/],
    ['logs web --since=1h --tail=1', 'line 10\n'],
    ['logs web --since-time=2100-01-01T00:00:00Z', ''],
    ['logs two -c b --tail=1', 'line 10\n'],
  ])('%s', async (args, expected) => {
    const ran = await run(args.split(' '))
    expect(ran.stderr).toBe('')
    if (typeof expected === 'string') expect(ran.stdout).toBe(expected)
    else expect(ran.stdout).toMatch(expected)
  })

  test('logs -f goes on until it is stopped', async () => {
    const following = spawn(binary, ['logs', '-f', 'web'], { env, cwd: folder })
    let told = ''
    for await (const chunk of following.stdout) {
      told += chunk
      if (told.endsWith('line 10\n')) break
    }
    expect(following.exitCode).toBeNull()
    following.kill('SIGTERM')
    if (following.exitCode === null && following.signalCode === null) await once(following, 'exit')
  })

  test.each<[args: string, message: string]>([
    ['logs web --previous', 'previous terminated container "main" in pod "web" not found'],
    ['logs missing', 'pods "missing" not found'],
    [
      'get --raw /api/v1/namespaces/default/pods/two/log',
      'a container name must be specified for pod two, choose one of: [a b]',
    ],
    [
      'get --raw /api/v1/namespaces/default/pods/web/log?tailLines=-1',
      'tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
  ])('%s fails', async (args, message) => {
    const ran = await run(args.split(' '))
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain(message)
  })
})

describe.skipIf(!kubectlRunsHere)('nodes', () => {
  const run = async (...args: string[]) => runProgram(await kubectl('1.36'), args, env, { cwd: folder })

  test('the kubelet is asked through the API server', async () => {
    const { stdout } = await run('get', '--raw', '/api/v1/nodes/node-1/proxy/pods')
    const names = (JSON.parse(stdout) as { items: { metadata: { name: string } }[] }).items.map(
      (pod) => pod.metadata.name,
    )
    expect(names.sort()).toEqual(['two', 'web'])
    expect((await run('get', '--raw', '/api/v1/nodes/node-1/proxy/healthz')).stdout).toBe('ok')
  })

  test('a simulated node has no kubelet, and says so', async () => {
    await node.run('ghost', { nodeName: 'simulated' })
    expect(await run('logs', 'ghost')).toMatchObject({ code: 0, stdout: '' })
    const ran = await run('exec', 'ghost', '--', 'true')
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('pod ghost is on the simulated node simulated: nothing runs there to connect to')
    expect((await run('port-forward', 'ghost', ':80')).stderr).toContain('nothing runs there to connect to')
  })
})

async function sendAndReceive(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(bytes)
  return buffer(socket).catch(() => Buffer.alloc(0))
}

const md5 = (bytes: Buffer | string) => createHash('md5').update(bytes).digest('hex')
