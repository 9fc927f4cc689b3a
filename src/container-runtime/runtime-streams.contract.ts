import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { collect, type PodScratch } from './pod-scratch.contract.ts'
import type { RuntimeAbilities } from './runtime.contract.ts'

const sh = (script: string) => ['sh', '-c', script]
const FOREVER = ['sleep', '1000']

export function streamContract(scratch: () => PodScratch, abilities: RuntimeAbilities): void {
  describe('exec', () => {
    test('runs in the container, with its streams apart and its exit code', async () => {
      const { start, exec } = scratch()
      const id = await start(FOREVER, { env: [{ name: 'GREETING', value: 'ahoy' }] })
      expect(await exec(id, sh('echo out $GREETING; echo err >&2; hostname; exit 9'))).toEqual({
        code: 9,
        stdout: 'out ahoy\nweb-0\n',
        stderr: 'err\n',
      })
    })

    test('has the rights of the container, no more', async () => {
      const { start, exec } = scratch()
      const id = await start(FOREVER, { security: { dropCapabilities: ['ALL'], noNewPrivileges: true } })
      const { stdout } = await exec(
        id,
        sh('grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | tr -s "\\t" " "'),
      )
      expect(stdout).toBe('CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n')
    })

    test('takes standard input until its end', async () => {
      const { runtime, start } = scratch()
      const id = await start(FOREVER)
      const session = await runtime.exec(id, { command: ['cat'], stdin: true, stdout: true })
      const text = 'line\n'.repeat(40_000)
      session.stdin!.end(text)
      const [received, code] = await Promise.all([collect(session.stdout), session.exited])
      expect([received.length, code]).toEqual([text.length, 0])
    })

    test.each([
      [['no-such-program'], 'exec: "no-such-program": executable file not found in $PATH'],
      [['/no/such/program'], 'exec: "/no/such/program": stat /no/such/program: no such file or directory'],
    ])('%j is not found', async (command, message) => {
      const { start, runtime } = scratch()
      const id = await start(FOREVER)
      // Some runtimes know it at once, others only when they tried.
      const ended = runtime.exec(id, { command, stdout: true }).then(({ exited }) => exited)
      await expect(ended).rejects.toThrow(message)
      expect((await runtime.containerStatus(id)).state).toBe('RUNNING')
    })

    test('ends at its deadline with 137', async () => {
      const { start, runtime } = scratch()
      const id = await start(FOREVER)
      const deadline = new AbortController()
      const session = await runtime.exec(id, {
        command: sh('sleep 500; true'),
        captured: true,
        signal: deadline.signal,
      })
      deadline.abort()
      expect(await session.exited).toBe(137)
    })

    test('ends with its container', async () => {
      const { start, runtime } = scratch()
      const id = await start(FOREVER)
      const session = await runtime.exec(id, { command: sh('echo on; exec sleep 1000'), stdout: true })
      await once(session.stdout!, 'data')
      await runtime.stopContainer(id, 0)
      expect(await session.exited).toBe(137)
    })

    test('needs a running container', async () => {
      const { run, runtime } = scratch()
      const { id } = await run(['true'])
      await expect(runtime.exec(id, { command: ['true'] })).rejects.toMatchObject({ code: 'FailedPrecondition' })
      await expect(runtime.exec('nobody', { command: ['true'] })).rejects.toMatchObject({ code: 'NotFound' })
    })

    test('has a terminal of any size', async () => {
      const { start, runtime } = scratch()
      const id = await start(FOREVER)
      const session = await runtime.exec(id, { command: ['sh'], stdin: true, stdout: true, tty: true })
      await session.resize({ width: 132, height: 43 })
      const output = collect(session.stdout)
      session.stdin!.write('tty; stty size; exit 5\n')
      expect(await session.exited).toBe(5)
      expect(await output).toMatch(/\/dev\/pts\/\d+\r\n43 132\r\n/)
    })

    test('many at once do not mix', async () => {
      const { start, exec } = scratch()
      const id = await start(FOREVER)
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => exec(id, sh(`echo ${i}; exit ${i}`))))
      expect(results.map(({ code, stdout }) => [code, stdout])).toEqual(results.map((_, i) => [i, `${i}\n`]))
    })
  })

  describe('attach', () => {
    test('sees output from now on, and gives input', async () => {
      const { start, runtime, exited } = scratch()
      const id = await start(sh('while read line; do echo "got $line"; echo "err $line" >&2; done; echo end'), {
        stdin: true,
        stdinOnce: true,
      })
      const session = await runtime.attach(id, { stdin: true, stdout: true, stderr: true })
      const output = Promise.all([collect(session.stdout), collect(session.stderr)])
      session.stdin!.write('one\n')
      session.stdin!.end('two\n')
      expect(await session.exited).toBe(0)
      expect(await output).toEqual(['got one\ngot two\nend\n', 'err one\nerr two\n'])
      expect((await exited(id)).exitCode).toBe(0)
    })

    test('input stays open for the next unless it is for one only', async () => {
      const { start, runtime, output } = scratch()
      const id = await start(sh('while read line; do echo "got $line"; done; echo end; sleep 1000'), { stdin: true })
      for (const line of ['one', 'two']) {
        const session = await runtime.attach(id, { stdin: true, stdout: true })
        session.stdin!.end(`${line}\n`)
        // Who has said all does not listen on.
        await session.exited
        await expect.poll(() => output(id)).toContain(`got ${line}\n`)
      }
      expect(await output(id)).toBe('got one\ngot two\n')
    })

    test('a terminal of the container: input, output, size', async () => {
      const { start, runtime, exited } = scratch()
      // Some set the size later than they say: until then there is none.
      const script = 'read line; until stty size 2>/dev/null | grep 111; do sleep 0.1; done; echo "got $line"; tty'
      const id = await start(sh(script), { stdin: true, tty: true })
      const session = await runtime.attach(id, { stdin: true, stdout: true, tty: true })
      await session.resize({ width: 111, height: 22 })
      const output = collect(session.stdout)
      session.stdin!.write('ahoy\n')
      expect(await session.exited).toBe(0)
      expect(await output).toMatch(/22 111\r\ngot ahoy\r\n\/dev\/pts\/0\r\n$/)
      expect((await exited(id)).exitCode).toBe(0)
    })
  })

  describe.skipIf(!abilities.network)('port-forward', () => {
    test('reaches the loopback of the pod', async () => {
      const { start, runtime } = scratch()
      const id = await start(['nc', '-ll', '-p', '8080', '-e', 'echo', 'pong'])
      const { sandboxId } = await runtime.containerStatus(id)
      const dial = async () => {
        const connection = await runtime.portForward(sandboxId, 8080)
        connection.end('ping\n')
        return collect(connection)
      }
      await expect.poll(() => dial().catch((error: Error) => error.message), { timeout: 10_000 }).toBe('pong\n')
    })

    test('says that nobody listens', async () => {
      const { sandbox, runtime } = scratch()
      const { id } = await sandbox()
      await expect(runtime.portForward(id, 9).then(collect)).rejects.toThrow('connection refused')
    })
  })
}
