import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kernelMounter } from '../../src/kubelet/kernel-mounter.ts'
import { startSyscallAgents } from '../../src/linux/syscall-agent.ts'
import { type BuiltinMachine, builtinMachine } from '../container-runtime/builtin-under-test.ts'
import { asRoot } from '../linux/as-root.ts'
import { runProgram } from '../tools/cluster.ts'
import { kubectl, kubectlRunsHere } from '../tools/kubectl.ts'
import { type StreamingNode, startStreamingNode } from './streaming-node.ts'

const IMAGE = 'test.local/busybox:1'
/** It says something, listens on a port, and answers when it is attached to. */
const PROGRAM = 'echo started; while true; do nc -l -p 9000 -e cat; done & while read line; do echo "heard $line"; done'

asRoot('streams of real containers', () => {
  let machine: BuiltinMachine
  let node: StreamingNode
  let folder: string
  let stop: () => Promise<void>
  beforeAll(async () => {
    machine = builtinMachine((root) => ({ [IMAGE]: [path.join(root, 'busybox')] }))
    const runtime = await machine.start()
    const agents = await startSyscallAgents()
    node = await startStreamingNode({ runtime, mounter: kernelMounter(agents), image: IMAGE })
    folder = mkdtempSync(path.join(tmpdir(), 'sampan-streaming-real-'))
    writeFileSync(path.join(folder, 'kubeconfig'), node.cluster.kubeconfig)
    stop = async () => {
      for (const { id } of await runtime.listPodSandbox()) {
        await runtime.stopPodSandbox(id)
        await runtime.removePodSandbox(id)
      }
      await runtime[Symbol.asyncDispose]()
      await agents[Symbol.asyncDispose]()
    }
    await node.run('web', {
      containers: [{ name: 'main', image: IMAGE, command: ['sh', '-c', PROGRAM], stdin: true }],
      terminationGracePeriodSeconds: 0,
    })
  })
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]()
    await stop?.()
    await machine?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  // One that speaks SPDY alone, and one that prefers WebSocket.
  describe.skipIf(!kubectlRunsHere).each(['1.27', '1.36'])('kubectl %s', (version) => {
    const env = () => ({ PATH: process.env.PATH, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') })
    const run = async (args: readonly string[], input?: string) =>
      runProgram(await kubectl(version), args, env(), { cwd: folder, ...(input !== undefined && { input }) })

    test('exec', async () => {
      const ran = await run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
      expect(ran).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\ncommand terminated with exit code 7\n' })
    })

    test('exec -i', async () => {
      const text = randomBytes(256 * 1024).toString('hex')
      const ran = await run(['exec', '-i', 'web', '--', 'cat'], text)
      expect(ran.code).toBe(0)
      expect(md5(ran.stdout)).toBe(md5(text))
    })

    test('exec -it', async () => {
      const line = `stty rows 33 cols 99; ${await kubectl(version)} exec -it web -- sh -c 'sleep 0.5; stty size; exit 3'`
      const ran = await runProgram('script', ['-qec', line, '/dev/null'], { ...env(), TERM: 'xterm' }, { cwd: folder })
      expect(ran.stdout).toContain('33 99')
      expect(ran.code).toBe(3)
    })

    test('cp both ways', async () => {
      const bytes = randomBytes(300_000)
      writeFileSync(path.join(folder, 'here'), bytes)
      expect(await run(['cp', 'here', `web:/tmp/there-${version}`])).toMatchObject({ code: 0 })
      expect(await run(['cp', `web:/tmp/there-${version}`, `back-${version}`])).toMatchObject({ code: 0 })
      expect(md5(readFileSync(path.join(folder, `back-${version}`)))).toBe(md5(bytes))
    })

    test('attach', async () => {
      const attached = spawn(await kubectl(version), ['attach', '-i', 'web'], { env: env(), cwd: folder })
      attached.stdin.write('me\n')
      let said = ''
      for await (const chunk of attached.stdout) {
        said += chunk
        if (said.includes('heard me')) break
      }
      attached.kill('SIGKILL')
      expect(said).toContain('heard me')
    })

    test('port-forward', async () => {
      const forwarding = spawn(await kubectl(version), ['port-forward', 'web', ':9000'], { env: env(), cwd: folder })
      try {
        const [line] = (await once(forwarding.stdout, 'data')) as [Buffer]
        const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]), '127.0.0.1')
        socket.write('over there')
        expect(String((await once(socket, 'data'))[0])).toBe('over there')
        socket.destroy()
      } finally {
        forwarding.kill('SIGKILL')
        await once(forwarding, 'close')
      }
    })

    test('logs', async () => {
      expect((await run(['logs', 'web'])).stdout).toContain('started\n')
    })
  })
})

const md5 = (bytes: Buffer | string) => createHash('md5').update(bytes).digest('hex')
