/** From a container's record to its running program. */
import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { processStartTime } from '../../base/process-identity.ts'
import { CLONE, O } from '../../linux/mounts.ts'
import type { Agent, AgentChannel } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'
import { becomeContainer, enterWorkingFolder, hasOwnUserNamespace, makeOwnUserNamespace } from './become-container.ts'
import type { ContainerStart, Machine } from './container-start.ts'
import { volumesOf } from './container-volumes.ts'
import { startCopiers } from './copiers.ts'
import { devicesOf } from './devices.ts'
import { endMaker, forkMaker, type Maker } from './fork-container.ts'
import type { Passwd } from './identity.ts'
import { checkRestrictedPaths, mountCgroups } from './kernel-filesystems.ts'
import { mountTarget } from './mount-target.ts'
import { readPasswdFiles } from './passwd-files.ts'
import { giveFolders, type Owner, rootOf } from './pod-users.ts'
import { processSettings } from './process-settings.ts'
import { becomeProgram } from './program.ts'
import type { StartRecord } from './records.ts'
import {
  attachVolumes,
  enterRootFilesystem,
  type RootFilesystem,
  remountReadonly,
  type Trees,
  type Volume,
} from './root-filesystem.ts'
import { sharedProcPath } from './sandbox.ts'
import { letShimWait } from './shim.ts'
import { newSession, newTerminal, type Terminal, useTerminal } from './terminal.ts'

export async function startContainerProcess(
  machine: Machine,
  start: ContainerStart,
): Promise<{ started: StartRecord; passwd: Passwd }> {
  const { config } = start.record
  const volumes = volumesOf(start)
  for (const name of ['upper', 'work', 'root']) mkdirSync(path.join(start.folder, name), { recursive: true })
  const { user } = start.sandbox.config.namespaces
  if (user) giveFolders(start.folder, start.image.layers.length, rootOf(user))
  const shim = await machine.agents.fork()
  let maker: Maker | undefined
  let program: Agent | undefined
  try {
    maker = await forkMaker(machine.agents, shim.channel, start)
    const root = rootFilesystem(start, volumes, maker, machine.rootless)
    const { settings, passwd, holder } = await makeContainer(machine, start, { shim, maker, root })
    program = await endMaker(machine.agents, shim.channel, maker, config.tty)
    letShimWait(shim.channel, program, start.folder, config.stdin && !config.stdinOnce && !config.tty)
    const startTime = processStartTime(program.pid)
    const starting: StartRecord = {
      pid: program.pid,
      ...(startTime !== undefined && { startTime }),
      startedAt: machine.clock.now(),
      stopSignal: config.stopSignal || start.image.config.stopSignal,
      process: settings,
      ...(holder && { terminal: holder }),
    }
    start.onPrepared(starting)
    await becomeProgram(program.channel, settings.args, settings.env)
    return { started: starting, passwd }
  } catch (error) {
    for (const agent of [program, maker?.agent]) if (agent) killQuietly(agent.pid)
    throw inWords(error)
  } finally {
    program?.channel.close()
    maker?.agent.channel.close()
    if (!program) maker?.program?.drop()
    shim.channel.close()
  }
}

function inWords(error: unknown): unknown {
  if (!(error instanceof LinuxError)) return error
  return new RuntimeError('Internal', `unable to start container process: ${error.message}`, { cause: error })
}

function rootFilesystem(
  { record, folder, sandbox, sandboxFolder, image }: ContainerStart,
  volumes: readonly Volume[],
  maker: Maker,
  rootless: boolean,
): RootFilesystem {
  const { security, devices } = record.config
  const { user } = sandbox.config.namespaces
  const owner = user && rootOf(user)
  const maskedPaths = security.privileged ? [] : security.maskedPaths
  const readonlyPaths = security.privileged ? [] : security.readonlyPaths
  checkRestrictedPaths([...maskedPaths, ...readonlyPaths])
  return {
    layers: image.layers,
    upper: path.join(folder, 'upper'),
    work: path.join(folder, 'work'),
    root: path.join(folder, 'root'),
    volumes,
    ...(security.namespaces.pid === 'POD' && { sharedProc: sharedProcPath(sandboxFolder) }),
    sharedMemory: security.namespaces.ipc === 'NODE' ? '/dev/shm' : path.join(sandboxFolder, 'shm'),
    devices: devicesOf(security.privileged, devices),
    privileged: security.privileged,
    rootless,
    maskedPaths,
    readonlyPaths,
    owner,
    ...(owner && { users: { namespace: maker.users!, root: owner, lower: path.join(folder, 'lower') } }),
  }
}

interface Making {
  readonly shim: Agent
  readonly maker: Maker
  readonly root: RootFilesystem
}

/** Everything but the program: the maker is where the container will be, with its rights and nothing else open. */
async function makeContainer(machine: Machine, start: ContainerStart, { shim, maker, root }: Making) {
  const { config, cgroup } = start.record
  const { channel: agent, pid } = maker.agent
  const joined = start.group.then(() => machine.cgroups.join(cgroup, pid))
  joined.catch(() => {})
  const trees = await enterRootFilesystem(agent, root, [
    ...maker.controls,
    ...(maker.users === undefined ? [] : [maker.users]),
  ])
  const passwd = start.passwd ?? (await readPasswdFiles(agent))
  const settings = processSettings(config, start.image.config, passwd, start.sandbox.config.hostname)
  await joined
  await Promise.all([
    agent.call('unshare', [CLONE.NEWCGROUP]),
    mountCgroups(agent, trees.kernel.sys, machine.cgroups.mounts, root.privileged),
    setOomScore(pid, config.resources.oomScoreAdj),
  ])
  await attachVolumes(agent, root, trees.volumes)
  const terminal = config.tty ? await newTerminal(agent, trees.kernel.pts) : undefined
  const holder = await startCopiers(machine.agents, shim, maker.agent, start, terminal)
  await makeWorkingFolder(agent, settings.cwd, root.owner)
  if (config.security.readonlyRootfs) await remountReadonly(agent)
  await enterWorkingFolder(agent, settings.cwd)
  if (hasOwnUserNamespace(settings, machine.rootless)) await makeOwnUserNamespace(maker.agent, settings)
  await Promise.all([
    useStreams(agent, config.stdin, trees, terminal, root.owner && root.owner.uid + settings.identity.uid),
    maker.program ? undefined : newSession(agent, config.tty),
    maker.users === undefined ? undefined : agent.call('setns', [maker.users, CLONE.NEWUSER]),
    becomeContainer(agent, settings, machine.rootless, maker.controls),
  ])
  return { settings, passwd, holder }
}

/** Lowering it needs a privilege that even root may lack; then the container is killed a little earlier than it should. */
async function setOomScore(pid: number, score: number | undefined): Promise<void> {
  if (score === undefined) return
  await writeFile(`/proc/${pid}/oom_score_adj`, String(score)).catch(() => {})
}

async function makeWorkingFolder(agent: AgentChannel, cwd: string, owner: Owner | undefined): Promise<void> {
  if (cwd !== '/') await mountTarget(agent, cwd, 'folder', owner)
}

/** The pipes are the agent's standard streams since its birth. */
async function useStreams(
  agent: AgentChannel,
  stdin: boolean,
  trees: Trees,
  terminal: Terminal | undefined,
  owner: number | undefined,
): Promise<void> {
  if (terminal) await useTerminal(agent, terminal.slave, owner)
  else if (!stdin) {
    void agent.call('openat', [trees.kernel.dev, 'null', O.RDONLY | O.CLOEXEC, 0], { keep: true })
    await agent.call('dup3', [0, 0, 0], { useKept: true })
  }
}

export function killQuietly(pid: number, signal: NodeJS.Signals | number = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
