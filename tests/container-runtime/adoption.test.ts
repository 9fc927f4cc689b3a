/** The runtime's process is killed at any moment; the containers go on, and the next process finds all as it is. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { textOf } from '../../src/container-runtime/pod-scratch.contract.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { MNT_DETACH } from '../../src/linux/mounts.ts'
import { asRoot } from '../linux/as-root.ts'
import { type BuiltinMachine, builtinMachine } from './builtin-under-test.ts'
import type { Orders } from './killed-runtime.ts'

const scratch = mkdtempSync(path.join(tmpdir(), 'sampan-killed-'))
const program = path.join(scratch, 'killed-runtime.mjs')

asRoot('a killed runtime', () => {
  let machine: BuiltinMachine
  let runtime: ContainerRuntime | undefined

  beforeAll(() => {
    const entry = fileURLToPath(new URL('killed-runtime.ts', import.meta.url))
    buildSync({
      entryPoints: [entry],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
    })
  })
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))
  afterEach(async () => {
    for (const { id } of (await runtime?.listPodSandbox()) ?? []) await runtime?.removePodSandbox(id)
    await runtime?.[Symbol.asyncDispose]()
    runtime = undefined
    await machine[Symbol.asyncDispose]()
  })

  /** Starts the containers, and kills their runtime when `when` resolves. */
  async function killedAfter(
    scripts: readonly string[],
    when: (child: ChildProcess, ids: string[]) => Promise<unknown>,
  ) {
    machine = builtinMachine()
    const { stateDir, cgroupRoot, root, logDirectory } = machine
    const orders: Orders = { stateDir, cgroupRoot, root, logDirectory, scripts }
    const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    const ids: string[] = []
    const ready = new Promise<void>((resolve) =>
      createInterface(child.stdout!).on('line', (line) => (line === 'ready' ? resolve() : ids.push(line))),
    )
    await ready
    await when(child, ids)
    child.kill('SIGKILL')
    await ended
    runtime = await machine.start()
    return { runtime, ids }
  }

  const allStarted = (count: number) => async (_child: ChildProcess, ids: string[]) => {
    await expect.poll(() => ids.length, { timeout: 20_000 }).toBe(count)
  }
  const exited = (runtime: ContainerRuntime, id: string) =>
    expect.poll(async () => (await runtime.containerStatus(id)).state, { timeout: 20_000 }).toBe('EXITED')

  test('leaves its containers running, and their logs whole', async () => {
    const script = 'i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); sleep 0.02; done; exit 23'
    const { runtime, ids } = await killedAfter([script], async (_child, ids) => {
      await expect.poll(() => ids.length).toBe(1)
      await sleep(300)
    })
    expect(await runtime.containerStatus(ids[0]!)).toMatchObject({ state: 'RUNNING' })
    await exited(runtime, ids[0]!)
    const status = await runtime.containerStatus(ids[0]!)
    expect(status).toMatchObject({ exitCode: 23, reason: 'Error' })
    expect(textOf(status.logPath)).toBe(Array.from({ length: 60 }, (_, i) => `line ${i}\n`).join(''))
  })

  test('learns what ended without it, to the last line', async () => {
    const script = 'while [ ! -e /tmp/go ]; do sleep 0.02; done; echo last words; exit 5'
    let killed: ChildProcess | undefined
    const { ids } = await killedAfter(['sleep 0.5; echo last words; exit 5', script], async (child, ids) => {
      await allStarted(2)(child, ids)
      killed = child
    })
    expect(killed?.killed).toBe(true)
    await runtime![Symbol.asyncDispose]()
    await sleep(900)
    runtime = await machine.start()
    await exited(runtime, ids[0]!)
    const status = await runtime.containerStatus(ids[0]!)
    expect(status).toMatchObject({ exitCode: 5, reason: 'Error' })
    expect(textOf(status.logPath)).toBe('last words\n')
    expect((await runtime.containerStatus(ids[1]!)).state).toBe('RUNNING')
  })

  test('finds sandboxes whose namespaces were taken away meanwhile not ready', async () => {
    const { runtime } = await killedAfter(['sleep 1000', 'sleep 1000'], async (_child, ids) => {
      await allStarted(2)(_child, ids)
      const [first] = readdirSync(path.join(machine.stateDir, 'sandboxes'))
      const folder = path.join(machine.stateDir, 'sandboxes', first!, 'ns')
      for (const name of readdirSync(folder)) linuxCalls().umount(path.join(folder, name), MNT_DETACH)
    })
    const sandboxes = await runtime.listPodSandbox()
    expect(sandboxes.map(({ state }) => state).sort()).toEqual(['NOTREADY', 'READY'])
  })

  test('goes on as if nothing had been: exec, stop, remove', async () => {
    const { runtime, ids } = await killedAfter(['echo up; sleep 1000'], allStarted(1))
    const session = await runtime.exec(ids[0]!, { command: ['sh', '-c', 'exit 3'] })
    expect(await session.exited).toBe(3)
    await runtime.stopContainer(ids[0]!, 0)
    expect(await runtime.containerStatus(ids[0]!)).toMatchObject({ state: 'EXITED', exitCode: 137 })
  })

  test.each([5, 20, 40, 60, 90, 120, 160])('while it starts pods, after %i ms: nothing is half there', async (ms) => {
    const scripts = Array.from({ length: 10 }, () => 'sleep 1000')
    const { runtime, ids } = await killedAfter(scripts, () => sleep(ms))
    for (const id of ids) expect((await runtime.containerStatus(id)).state).toBe('RUNNING')
    for (const { id, state } of await runtime.listContainers()) {
      expect(['CREATED', 'RUNNING', 'EXITED']).toContain(state)
      if (state === 'EXITED') expect(await runtime.containerStatus(id)).toMatchObject({ reason: 'StartError' })
    }
    for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id)
    expect(await runtime.listContainers()).toEqual([])
    expect(machine.leftovers()).toEqual([])
  })
})
