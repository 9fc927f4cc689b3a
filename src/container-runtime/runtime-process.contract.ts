import { readFileSync, renameSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { PodScratch } from './pod-scratch.contract.ts'
import type { RuntimeAbilities } from './runtime.contract.ts'

const sh = (script: string) => ['sh', '-c', script]

export function processContract(scratch: () => PodScratch, abilities: RuntimeAbilities): void {
  describe('programs', () => {
    test.each([
      ['exit 0', 0, 'Completed'],
      ['exit 7', 7, 'Error'],
      ['kill -KILL $$', 0, 'Completed'],
      ['sh -c "kill -SEGV \\$\\$"; exit $?', 139, 'Error'],
    ])('`%s` exits with %i', async (script, exitCode, reason) => {
      const { status } = await scratch().run(sh(script))
      expect(status).toMatchObject({ exitCode, reason })
    })

    test('get their arguments, environment and folder', async () => {
      const { output } = await scratch().run(['sh', '-c', 'echo "$0|$1|$GREETING|$HOSTNAME|$PWD"', 'zero'], {
        args: ['one two'],
        env: [
          { name: 'GREETING', value: 'old' },
          { name: 'GREETING', value: 'ahoy' },
        ],
        workingDir: '/var/not/there/yet',
      })
      expect(output).toBe('zero|one two|ahoy|web-0|/var/not/there/yet\n')
    })

    test.each([
      [['no-such-program'], 'exec: "no-such-program": executable file not found in $PATH'],
      [['/no/such/program'], 'exec: "/no/such/program": stat /no/such/program: no such file or directory'],
      [['/etc'], 'exec: "/etc": permission denied'],
    ])('%j cannot be started', async (command, message) => {
      const { runtime, sandbox, container, start } = scratch()
      await expect(start(command)).rejects.toThrow(message)
      const { id, config } = await sandbox()
      const failed = await runtime.createContainer(id, container(command), config)
      await expect(runtime.startContainer(failed)).rejects.toThrow(message)
      const status = await runtime.containerStatus(failed)
      expect(status).toMatchObject({ state: 'EXITED', exitCode: 128, reason: 'StartError' })
      expect(status.message).toContain(message)
    })

    test('get the stop signal, and the time to obey', async () => {
      const { runtime, start, output } = scratch()
      const id = await start(sh('trap "echo stopping; exit 3" TERM; echo ready; while :; do sleep 0.05; done'))
      await expect.poll(() => output(id)).toBe('ready\n')
      await runtime.stopContainer(id, 30)
      expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 3, reason: 'Error' })
      expect(await output(id)).toBe('ready\nstopping\n')
    })

    test('may ask for another stop signal', async () => {
      const { runtime, start, output } = scratch()
      const script = 'trap "exit 4" USR1; echo ready; while :; do sleep 0.05; done'
      const id = await start(sh(script), { stopSignal: 'SIGUSR1' })
      await expect.poll(() => output(id)).toBe('ready\n')
      await runtime.stopContainer(id, 30)
      expect((await runtime.containerStatus(id)).exitCode).toBe(4)
    })

    test('that do not obey are killed', async () => {
      const { runtime, start, output } = scratch()
      const id = await start(sh('trap "" TERM; echo ready; sleep 1000'))
      await expect.poll(() => output(id)).toBe('ready\n')
      await runtime.stopContainer(id, 1)
      expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137, reason: 'Error' })
    })

    test('share the processes of the pod if it says so', async () => {
      const { runtime, sandbox, container, output, exec } = scratch()
      const namespaces = { network: 'POD', pid: 'POD', ipc: 'POD' } as const
      const { id: sandboxId, config } = await sandbox({ namespaces })
      const one = container(sh('sleep 1000'), { security: { namespaces } })
      const first = await runtime.createContainer(sandboxId, one, config)
      await runtime.startContainer(first)
      const two = container(sh('ps; exec sleep 1001'), { name: 'two', logPath: 'two/0.log', security: { namespaces } })
      const second = await runtime.createContainer(sandboxId, two, config)
      await runtime.startContainer(second)
      await expect.poll(() => output(second)).toContain('sleep 1000')
      expect((await exec(first, ['ps'])).stdout).toContain('sleep 1001')
      await runtime.stopContainer(first, 0)
      expect((await runtime.containerStatus(second)).state).toBe('RUNNING')
    })

    test('leave no process of the container behind', async () => {
      const { runtime, sandbox, container, output } = scratch()
      const namespaces = { network: 'POD', pid: 'NODE', ipc: 'POD' } as const
      const { id: sandboxId, config } = await sandbox({ namespaces })
      const script = 'sleep 1234 & echo $!; wait'
      const id = await runtime.createContainer(sandboxId, container(sh(script), { security: { namespaces } }), config)
      await runtime.startContainer(id)
      await expect.poll(() => output(id)).toMatch(/^\d+\n$/)
      const pid = Number(await output(id))
      await runtime.stopContainer(id, 0)
      await expect.poll(() => isAlive(pid)).toBe(false)
    })
  })

  describe('logs', () => {
    /** A container that has written all this. Where the last may be lost it has not ended. */
    const written = async ({ run, start, output }: PodScratch, script: string, all: string): Promise<string> => {
      if (!abilities.losesLastOutput) return (await run(sh(script))).id
      const id = await start(sh(`${script}; exec sleep 1000`))
      await expect.poll(async () => (await output(id)).length, { timeout: 20_000 }).toBe(all.length)
      return id
    }

    test('are in CRI format', async () => {
      const { runtime, run } = scratch()
      const { id } = await run(sh('echo out; echo err >&2; printf unfinished'))
      const lines = readFileSync((await runtime.containerStatus(id)).logPath, 'utf8').split('\n')
      const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{1,9}Z'
      expect(lines).toHaveLength(4)
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${time} stdout F out$`)))
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${time} stderr F err$`)))
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${time} stdout [FP] unfinished$`)))
    })

    test('hold all of a long line, in pieces of at most 16 KiB', async () => {
      const pod = scratch()
      const all = `${'x'.repeat(100_000)}\nend\n`
      const id = await written(pod, 'head -c 100000 /dev/zero | tr "\\0" x; echo; echo end', all)
      expect(await pod.output(id)).toBe(all)
      const lines = readFileSync((await pod.runtime.containerStatus(id)).logPath, 'utf8').split('\n')
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(16 * 1024 + 60)
    })

    test('take a flood without loss', async () => {
      const pod = scratch()
      const all = Array.from({ length: 50_000 }, (_, i) => `${i + 1}\n`).join('')
      const id = await written(pod, 'seq 1 50000', all)
      expect(await pod.output(id)).toBe(all)
    })

    test('go on in a new file after rotation', async () => {
      const { runtime, start, output } = scratch()
      const id = await start(sh('echo before; while [ ! -e /go ]; do sleep 0.02; done; echo after; sleep 1000'))
      await expect.poll(() => output(id)).toBe('before\n')
      const { logPath } = await runtime.containerStatus(id)
      renameSync(logPath, `${logPath}.1`)
      await runtime.reopenContainerLog(id)
      const session = await runtime.exec(id, { command: ['touch', '/go'] })
      expect(await session.exited).toBe(0)
      await expect.poll(() => output(id)).toBe('after\n')
      expect(readFileSync(`${logPath}.1`, 'utf8')).toContain('before')
    })
  })

  describe.skipIf(!abilities.limits)('limits', () => {
    test('too much memory is OOMKilled, which is not the same as killed', async () => {
      const { run, runtime } = scratch()
      const hog = sh('dd if=/dev/zero of=/dev/null bs=200M count=1')
      const resources = { memoryLimitBytes: 32 << 20, memorySwapLimitBytes: 32 << 20 }
      const reasons: (string | undefined)[] = []
      for (let i = 0; i < (abilities.missesOutOfMemory ? 5 : 1) && !reasons.includes('OOMKilled'); i++) {
        const { id, status } = await run(hog, { resources })
        expect(status.exitCode).toBe(137)
        // Told late by some.
        if (abilities.missesOutOfMemory) await setTimeout(500)
        reasons.push((await runtime.containerStatus(id)).reason)
      }
      expect(reasons.at(-1)).toBe('OOMKilled')
    })

    test('a fork bomb ends at the limit, and can be stopped', async () => {
      const { runtime, start } = scratch()
      // Not at once: containerd on cgroup v1 can be told of the limit only when the container runs.
      const bomb = sh('sleep 1; bomb() { bomb | bomb & }; bomb; sleep 1000')
      const id = await start(bomb, { resources: { pidsLimit: 50, cpuQuota: 20_000, cpuPeriod: 100_000 } })
      const processes = async () => (await runtime.stats({ id }))[0]?.processes ?? 0
      await expect.poll(processes, { timeout: 20_000 }).toBeGreaterThan(20)
      // Those that the kernel is about to refuse are counted for a moment.
      await expect.poll(processes, { timeout: 20_000 }).toBeLessThanOrEqual(50)
      await runtime.stopContainer(id, 0)
      expect((await runtime.containerStatus(id)).exitCode).toBe(137)
    })

    test('are seen in the figures', async () => {
      const { runtime, start, exec } = scratch()
      const id = await start(sh('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done > /file; sleep 1000'))
      const figures = async () => (await runtime.stats({ id }))[0]!
      await expect.poll(async () => (await figures()).cpuNanoseconds).toBeGreaterThan(0)
      expect((await figures()).memoryUsageBytes).toBeGreaterThan(0)
      expect((await figures()).processes).toBeGreaterThanOrEqual(1)
      expect((await exec(id, ['true'])).code).toBe(0)
      const { sandboxId } = await runtime.containerStatus(id)
      const [pod] = await runtime.sandboxStats(sandboxId)
      expect(pod!.cpuNanoseconds).toBeGreaterThan(0)
    })

    test('may be changed while it runs', async () => {
      const { runtime, start } = scratch()
      const id = await start(['sleep', '1000'], { resources: { memoryLimitBytes: 64 << 20, cpuShares: 102 } })
      await runtime.updateContainerResources(id, { memoryLimitBytes: 128 << 20, cpuQuota: 50_000, cpuPeriod: 100_000 })
      expect((await runtime.containerStatus(id)).state).toBe('RUNNING')
    })
  })
}

function isAlive(pid: number): boolean {
  try {
    // A zombie has ended; who reaps it is not the runtime's business.
    return process.kill(pid, 0) && !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
