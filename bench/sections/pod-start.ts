/** One pod from sandbox to running program, with a network: the builtin runtime and containerd in turns. */
import { existsSync } from 'node:fs'
import { missingPrograms } from '../../src/container-runtime/containerd-programs.ts'
import { containerConfig, sandboxConfig } from '../../src/container-runtime/pod-configs.contract.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { median, pause } from '../measure.ts'
import { type PodStartMachine, podStartMachine } from '../pod-start/machine.ts'
import type { Row, Section } from '../report.ts'

const LIMITS = { memoryLimitBytes: 64 << 20, cpuShares: 100 }
/** What a runtime still does after it has answered. */
const SETTLE_MS = 100

export const podStartSection: Section = {
  name: 'pod-start',
  title:
    "Pod start: builtin runtime and our pod network; beside: Debian's containerd through CRI, CNI bridge and host-local",
  async run({ quick }) {
    const isHere = process.getuid?.() === 0 && missingPrograms().length === 0 && existsSync('/usr/lib/cni/bridge')
    if (!isHere || !existsSync('/bin/busybox')) return []
    const machine = await podStartMachine()
    try {
      return await measure(machine, quick ? 5 : 20)
    } finally {
      await machine[Symbol.asyncDispose]()
    }
  },
}

interface Phase {
  readonly milliseconds: number
  readonly cpu: number
}

interface Round {
  readonly start: Phase
  readonly exec: Phase
  readonly remove: Phase
}

async function measure(machine: PodStartMachine, rounds: number): Promise<Row[]> {
  const { builtin, containerd } = machine
  const ours: Round[] = []
  const theirs: Round[] = []
  // The first of each brings caches and compiled code.
  for (const side of [builtin, containerd]) await onePod(machine, side.runtime, side.image)
  for (let i = 0; i < rounds; i++) {
    ours.push(await onePod(machine, builtin.runtime, builtin.image))
    theirs.push(await onePod(machine, containerd.runtime, containerd.image))
  }
  const compare = (what: string, of: (round: Round) => number, goal: string): Row => {
    const [mine, peer] = [median(ours.map(of)), median(theirs.map(of))]
    return { what, ours: `${mine.toFixed(1)} ms`, peer: `${peer.toFixed(1)} ms`, ratio: peer / mine, goal }
  }
  return [
    compare('pod start, p50', ({ start }) => start.milliseconds, 'at least 5'),
    compare('CPU of a start, all processes', ({ start }) => start.cpu, 'at least 5'),
    compare('exec of true, p50', ({ exec }) => exec.milliseconds, 'under 50 ms'),
    compare('CPU of an exec', ({ exec }) => exec.cpu, ''),
    compare('pod removal, p50', ({ remove }) => remove.milliseconds, ''),
    compare('CPU of a removal', ({ remove }) => remove.cpu, ''),
  ]
}

async function onePod(machine: PodStartMachine, runtime: ContainerRuntime, image: PodStartMachine['builtin']['image']) {
  const sandbox = sandboxConfig(machine.logDirectory)
  let sandboxId = ''
  let id = ''
  const start = await phase(machine, async () => {
    sandboxId = await runtime.runPodSandbox(sandbox)
    const config = containerConfig(image, ['sleep', '1000'], { resources: LIMITS })
    id = await runtime.createContainer(sandboxId, config, sandbox)
    await runtime.startContainer(id)
  })
  const exec = await phase(machine, async () => {
    const session = await runtime.exec(id, { command: ['true'], captured: true })
    if ((await session.exited) !== 0) throw new Error('exec failed')
  })
  const remove = await phase(machine, () => runtime.removePodSandbox(sandboxId))
  return { start, exec, remove }
}

/** CPU is that of the whole group: this process, agents, containerd, shims, runc, plugins, pods. */
async function phase({ cgroupRoot }: PodStartMachine, work: () => Promise<unknown>): Promise<Phase> {
  const cgroups = openCgroups({ root: cgroupRoot })
  const used = () => (cgroups.stats('')?.cpuNanoseconds ?? 0) / 1e6
  const before = used()
  const begun = performance.now()
  await work()
  const milliseconds = performance.now() - begun
  await pause(SETTLE_MS)
  return { milliseconds, cpu: used() - before }
}
