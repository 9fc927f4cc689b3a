import { existsSync } from 'node:fs'
import { containerConfig, sandboxConfig } from '../../src/container-runtime/pod-configs.contract.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import { type BuiltinMachine, builtinMachine } from '../../tests/container-runtime/builtin-under-test.ts'
import { BUSYBOX_IMAGE } from '../../tests/container-runtime/busybox-image.ts'
import { cpuMicroseconds, median, percentile } from '../measure.ts'
import type { Row, Section } from '../report.ts'

const IMAGE = { imageId: BUSYBOX_IMAGE, image: BUSYBOX_IMAGE }
const LIMITS = { memoryLimitBytes: 64 << 20, cpuShares: 100, pidsLimit: 100 }
const AT_ONCE = 8

export const containerRuntimeSection: Section = {
  name: 'container-runtime',
  title: 'Containers: the builtin runtime (network namespace with loopback, default seccomp, limits)',
  async run({ quick }) {
    if (process.getuid?.() !== 0 || !existsSync('/bin/busybox')) return []
    const machine = builtinMachine()
    const runtime = await machine.start()
    try {
      return [
        ...(await measureOne(machine, runtime, quick ? 20 : 100)),
        await measureMany(machine, runtime, quick ? 50 : 200),
      ]
    } finally {
      await runtime[Symbol.asyncDispose]()
      await machine[Symbol.asyncDispose]()
    }
  },
}

async function startPod({ logDirectory }: BuiltinMachine, runtime: ContainerRuntime) {
  const sandbox = sandboxConfig(logDirectory)
  const sandboxId = await runtime.runPodSandbox(sandbox)
  const config = containerConfig(IMAGE, ['sleep', '1000'], { resources: LIMITS })
  const id = await runtime.createContainer(sandboxId, config, sandbox)
  await runtime.startContainer(id)
  return { sandboxId, id }
}

async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work()
  times.push(performance.now() - started)
  return result
}

async function measureOne(machine: BuiltinMachine, runtime: ContainerRuntime, rounds: number): Promise<Row[]> {
  const start: number[] = []
  const exec: number[] = []
  const remove: number[] = []
  const cpu: number[] = []
  for (let i = 0; i < rounds; i++) {
    const before = cpuMicroseconds(process.pid)
    const { sandboxId, id } = await timed(start, () => startPod(machine, runtime))
    cpu.push((cpuMicroseconds(process.pid) - before) / 1000)
    await timed(exec, async () => (await runtime.exec(id, { command: ['true'] })).exited)
    await timed(remove, () => runtime.removePodSandbox(sandboxId))
  }
  return [
    row('pod start, sandbox to running', start, '5 times less than containerd (280 to 520 ms)'),
    row('CPU of this process per start', cpu, '5 times less than containerd (150 to 225 ms)'),
    row('exec, round trip', exec, 'under 50 ms'),
    row('pod removal', remove, ''),
  ]
}

function row(what: string, times: readonly number[], goal: string): Row {
  const sorted = [...times].sort((a, b) => a - b)
  const ours = `${median(times).toFixed(1)} ms (p95 ${percentile(sorted, 0.95).toFixed(1)})`
  return { what, ours, peer: '', goal }
}

async function measureMany(machine: BuiltinMachine, runtime: ContainerRuntime, pods: number): Promise<Row> {
  const sandboxes: string[] = []
  let next = 0
  const started = performance.now()
  const worker = async () => {
    while (next++ < pods) sandboxes.push((await startPod(machine, runtime)).sandboxId)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const seconds = (performance.now() - started) / 1000
  for (const id of sandboxes) await runtime.removePodSandbox(id)
  return {
    what: `${pods} pods, ${AT_ONCE} at a time`,
    ours: `${seconds.toFixed(1)} s`,
    peer: '',
    goal: '200 in under 15 s',
  }
}
