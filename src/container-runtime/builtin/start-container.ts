/** From a container's record to its running program. */
import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { openAs } from '../../linux/agent-files.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import { AT_FDCWD, CLONE, O, O_DIRECTORY, openResolved, RESOLVE_NO_MAGICLINKS } from '../../linux/mounts.ts'
import type { Agent, AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import type { ImageContent } from '../image-content.ts'
import { RuntimeError } from '../runtime.ts'
import { takeCredentials } from './credentials.ts'
import { devicesOf, kindOf } from './devices.ts'
import type { Passwd } from './identity.ts'
import { mountTarget } from './mount-target.ts'
import { readPasswdFiles } from './passwd-files.ts'
import { giveFolders, type Owner, rootOf, userNamespacePath } from './pod-users.ts'
import { processSettings, seccompFilter } from './process-settings.ts'
import { becomeProgram } from './program.ts'
import type { ContainerRecord, ProcessSettings, SandboxRecord, StartRecord } from './records.ts'
import {
  enterRootFilesystem,
  mountCgroups,
  type RootFilesystem,
  remountReadonly,
  type Volume,
} from './root-filesystem.ts'
import { FD, FILES, letShimWait, prepareShim } from './shim.ts'
import { openTerminal, type Terminal, takeDescriptor, takeTerminal } from './terminal.ts'

export interface Machine {
  readonly agents: SyscallAgents
  readonly cgroups: Cgroups
  readonly clock: Clock
  readonly rootless: boolean
}

export interface ContainerStart {
  readonly record: ContainerRecord
  readonly folder: string
  readonly sandbox: SandboxRecord
  readonly sandboxFolder: string
  readonly image: ImageContent
  /** By their ids. */
  readonly imageVolumes: ReadonlyMap<string, ImageContent>
  /** Resolves when the container's cgroup is there. */
  readonly group: Promise<void>
  /** Users of this image, if they were read before. */
  readonly passwd?: Passwd
  /** The program is about to run: its output can be read. */
  onPrepared(starting: StartRecord): void
}

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9
const CLOSE_RANGE_CLOEXEC = 4

export async function startContainerProcess(
  machine: Machine,
  start: ContainerStart,
): Promise<{ started: StartRecord; passwd: Passwd }> {
  const { config, cgroup } = start.record
  const volumes = volumesOf(start)
  for (const name of ['upper', 'work', 'root']) mkdirSync(path.join(start.folder, name), { recursive: true })
  const { user } = start.sandbox.config.namespaces
  if (user) giveFolders(start.folder, start.image.layers.length, rootOf(user))
  const shim = await machine.agents.fork()
  let child: Agent | undefined
  try {
    child = await forkContainer(machine, shim.channel, start)
    const agent = child.channel
    const { pid } = child
    const joined = start.group.then(() => machine.cgroups.join(cgroup, pid))
    joined.catch(() => {})
    await enterRootFilesystem(agent, rootFilesystem(start, volumes, machine.rootless))
    const passwd = start.passwd ?? (await readPasswdFiles(agent))
    const settings = processSettings(config, start.image.config, passwd, start.sandbox.config.hostname)
    const terminal = config.tty ? await openTerminal(agent) : undefined
    const holder = await startCopiers(machine.agents, shim, child, start, terminal)
    await joined
    await setOomScore(child.pid, config.resources.oomScoreAdj)
    letShimWait(shim.channel, child, start.folder, config.stdin && !config.stdinOnce && !config.tty)
    await finishSetup(child, machine, start, settings, terminal)
    const stopSignal = config.stopSignal || start.image.config.stopSignal
    const starting: StartRecord = {
      pid,
      startedAt: machine.clock.now(),
      stopSignal,
      process: settings,
      ...(holder && { terminal: holder }),
    }
    start.onPrepared(starting)
    await becomeProgram(agent, settings.args, settings.env)
    return { started: starting, passwd }
  } catch (error) {
    if (child) killQuietly(child.pid)
    throw inWords(error)
  } finally {
    child?.channel.close()
    shim.channel.close()
  }
}

function inWords(error: unknown): unknown {
  if (!(error instanceof LinuxError)) return error
  return new RuntimeError('Internal', `unable to start container process: ${error.message}`, { cause: error })
}

/** The image's own mounts, the pod's /etc files, then the volumes; a volume at the same place wins. */
function volumesOf({ image, imageVolumes, record, sandboxFolder, folder }: ContainerStart): Volume[] {
  const etc = ['hostname', 'resolv.conf'].map((name) => ({
    containerPath: `/etc/${name}`,
    hostPath: path.join(sandboxFolder, name),
    readonly: record.config.security.readonlyRootfs,
    propagation: 'PRIVATE' as const,
  }))
  const ofImage = image.mounts.map((mount) => ({ ...mount, isOfImage: true }))
  const byTarget = new Map<string, Omit<Volume, 'kind'>>(
    [...ofImage, ...etc, ...record.config.mounts].map((mount) => [mount.containerPath, mount]),
  )
  return [...byTarget.values()].map((mount, i) => {
    if (mount.image) {
      const place = path.join(folder, 'images', String(i))
      mkdirSync(place, { recursive: true })
      const { layers } = imageVolumes.get(mount.image.id)!
      return { ...mount, kind: 'folder', isOfImage: true, tree: { layers, place, subPath: mount.image.subPath ?? '.' } }
    }
    return { ...mount, kind: kindOf(mount.hostPath) ?? madeFolder(mount.hostPath) }
  })
}

/** A path that is not there becomes a folder, as with other runtimes: so works a hostPath without a type. */
function madeFolder(hostPath: string): 'folder' {
  try {
    mkdirSync(hostPath, { recursive: true, mode: 0o755 })
    return 'folder'
  } catch (error) {
    const message = `failed to mount "${hostPath}": ${(error as Error).message}`
    throw new RuntimeError('InvalidArgument', message, { cause: error })
  }
}

function rootFilesystem(start: ContainerStart, volumes: readonly Volume[], rootless: boolean): RootFilesystem {
  const { security, devices } = start.record.config
  const { user } = start.sandbox.config.namespaces
  return {
    layers: start.image.layers,
    upper: path.join(start.folder, 'upper'),
    work: path.join(start.folder, 'work'),
    root: path.join(start.folder, 'root'),
    volumes,
    sharedMemory: security.namespaces.ipc === 'NODE' ? '/dev/shm' : path.join(start.sandboxFolder, 'shm'),
    devices: devicesOf(security.privileged, devices),
    privileged: security.privileged,
    rootless,
    maskedPaths: security.privileged ? [] : security.maskedPaths,
    readonlyPaths: security.privileged ? [] : security.readonlyPaths,
    ...(user && {
      users: {
        namespace: FD.namespace + NAMESPACE.user,
        root: rootOf(user),
        lower: path.join(start.folder, 'lower'),
      },
    }),
  }
}

/** The container's first process, in its namespaces, still an agent. */
async function forkContainer(machine: Machine, shim: AgentChannel, start: ContainerStart): Promise<Agent> {
  const { config } = start.record
  const ownPid = config.security.namespaces.pid
  const prepared = prepareShim(shim, { folder: start.folder, stdin: config.stdin, tty: config.tty })
  const connection = machine.agents.connect(shim, FD.childControl)
  const namespaces = namespacePaths(start)
  const entered = namespaces.map(([type, file]) => openAs(shim, FD.namespace + type, file, O.RDONLY))
  if (start.sandbox.config.namespaces.user)
    entered.push(openAs(shim, FD.namespace + NAMESPACE.user, userNamespacePath(start.sandboxFolder), O.RDONLY))
  const pid = namespaces.find(([type]) => type === NAMESPACE.pid)
  if (pid) entered.push(shim.call('setns', [FD.namespace + NAMESPACE.pid, CLONE.NEWPID]))
  const flags = CLONE.NEWNS | (ownPid === 'CONTAINER' ? CLONE.NEWPID : 0)
  const child = await machine.agents.forkFrom(shim, connection, flags)
  const setns = namespaces
    .filter(([type]) => type !== NAMESPACE.pid)
    .map(([type]) => child.channel.call('setns', [FD.namespace + type, 0]))
  try {
    await Promise.all([prepared, ...entered, ...setns])
    return child
  } catch (error) {
    child.channel.close()
    throw error
  }
}

const NAMESPACE = { ipc: 0, uts: 1, net: 2, pid: 3, user: 4 } as const

function namespacePaths({ record, sandbox, sandboxFolder }: ContainerStart): (readonly [number, string])[] {
  const { namespaces } = record.config.security
  const file = (name: string) => path.join(sandboxFolder, 'ns', name)
  const paths: (readonly [number, string])[] = [[NAMESPACE.uts, file('uts')]]
  if (namespaces.ipc === 'POD') paths.push([NAMESPACE.ipc, file('ipc')])
  if (namespaces.network === 'POD' && sandbox.netnsPath) paths.push([NAMESPACE.net, sandbox.netnsPath])
  if (namespaces.pid === 'POD') paths.push([NAMESPACE.pid, file('pid')])
  return paths
}

/** Processes beside the shim that move a terminal's bytes, or keep a standard input open until its end is told. */
async function startCopiers(
  agents: SyscallAgents,
  shim: Agent,
  child: Agent,
  start: ContainerStart,
  terminal: Terminal | undefined,
): Promise<{ pid: number; descriptor: number } | undefined> {
  const { stdin, stdinOnce } = start.record.config
  if (terminal) {
    const output = await forkCopier(agents, shim.channel, [FD.stdinRead, FD.stdinWrite])
    const master = await takeDescriptor(output.channel, child.pid, terminal.master)
    output.channel.tellCopy(master, FD.stdoutWrite)
    letGo(output.channel)
    if (stdin) {
      const input = await forkCopier(agents, shim.channel, [FD.stdoutWrite, FD.stdinRead])
      input.channel.tellCopy(FD.stdinWrite, await takeDescriptor(input.channel, child.pid, terminal.master))
      letGo(input.channel)
    }
    return { pid: output.pid, descriptor: master }
  }
  if (stdin && stdinOnce) {
    const holder = await forkCopier(agents, shim.channel, [FD.stdoutWrite, FD.stderrWrite, FD.stdinRead])
    await openAs(holder.channel, FD.namespace, path.join(start.folder, FILES.stdinEnd), O.RDWR)
    holder.channel.tell('read', [FD.namespace, { out: 8 }, 1])
    letGo(holder.channel)
  }
  return undefined
}

async function forkCopier(agents: SyscallAgents, shim: AgentChannel, unused: readonly number[]): Promise<Agent> {
  const copier = await agents.forkFrom(shim, agents.connect(shim, FD.childControl))
  copier.channel.tell('prctl', [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0])
  for (const fd of [FD.alive, FD.exit, FD.release, SHIM_CONTROL, ...unused]) copier.channel.tell('close', [fd])
  return copier
}

/** The control descriptor of a forked agent. */
const SHIM_CONTROL = 10

function letGo(channel: AgentChannel): void {
  channel.tell('exit_group', [0])
  channel.close()
}

/** Lowering it needs a privilege that even root may lack; then the container is killed a little earlier than it should. */
async function setOomScore(pid: number, score: number | undefined): Promise<void> {
  if (score === undefined) return
  await writeFile(`/proc/${pid}/oom_score_adj`, String(score)).catch(() => {})
}

async function finishSetup(
  { channel: agent, pid }: Agent,
  machine: Machine,
  start: ContainerStart,
  settings: ProcessSettings,
  terminal: Terminal | undefined,
): Promise<void> {
  const { config } = start.record
  const { security } = config
  await agent.call('unshare', [CLONE.NEWCGROUP])
  await mountCgroups(agent, machine.cgroups.mounts, security.privileged)
  const { user } = start.sandbox.config.namespaces
  const root = user && rootOf(user)
  await makeWorkingFolder(agent, settings.cwd, root)
  if (security.readonlyRootfs) await remountReadonly(agent)
  const steps: Promise<unknown>[] = [agent.call('setsid')]
  if (terminal) steps.push(takeTerminal(agent, terminal.slave, root && root.uid + settings.identity.uid))
  else {
    if (config.stdin) steps.push(agent.call('dup3', [FD.stdinRead, 0, 0]))
    else {
      steps.push(agent.call('openat', [AT_FDCWD, '/dev/null', O.RDONLY | O.CLOEXEC, 0], { keep: true }))
      steps.push(agent.call('dup3', [0, 0, 0], { useKept: true }))
    }
    steps.push(agent.call('dup3', [FD.stdoutWrite, 1, 0]), agent.call('dup3', [FD.stderrWrite, 2, 0]))
  }
  await enterWorkingFolder(agent, settings.cwd)
  await Promise.all(steps)
  if (user) await agent.call('setns', [FD.namespace + NAMESPACE.user, CLONE.NEWUSER])
  if (hasOwnUserNamespace(settings, machine.rootless)) await becomeUser(agent, pid, settings)
  await Promise.all(becomeContainer(agent, settings, machine.rootless))
}

/** Without root there is one id only, and a user namespace per container gives it the number the container asks for. */
export const hasOwnUserNamespace = (settings: ProcessSettings, rootless: boolean) =>
  rootless && (settings.identity.uid !== 0 || settings.identity.gid !== 0)

async function becomeUser(agent: AgentChannel, pid: number, { identity }: ProcessSettings): Promise<void> {
  await agent.call('unshare', [CLONE.NEWUSER])
  await writeFile(`/proc/${pid}/setgroups`, 'deny')
  await writeFile(`/proc/${pid}/uid_map`, `${identity.uid} 0 1`)
  await writeFile(`/proc/${pid}/gid_map`, `${identity.gid} 0 1`)
}

/** What a container's program and a command executed in it have in common. */
export function becomeContainer(agent: AgentChannel, settings: ProcessSettings, rootless: boolean): Promise<unknown>[] {
  const { identity, capabilities, noNewPrivileges } = settings
  const seccomp = seccompFilter(settings.seccomp, capabilities)
  return [
    agent.call('close_range', [3, 0xffffffff, CLOSE_RANGE_CLOEXEC]),
    agent.call('umask', [0o22]),
    takeCredentials(agent, { identity, capabilities, noNewPrivileges, seccomp, singleId: rootless }),
  ]
}

async function makeWorkingFolder(agent: AgentChannel, cwd: string, owner: Owner | undefined): Promise<void> {
  if (cwd !== '/') agent.tell('close', [await mountTarget(agent, cwd, 'folder', owner)])
}

/** Never through a link to a descriptor of ours (CVE-2024-21626). */
export async function enterWorkingFolder(agent: AgentChannel, cwd: string): Promise<void> {
  const folder = await openResolved(agent, cwd, O.PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS)
  if (folder < 0)
    throw new RuntimeError(
      'InvalidArgument',
      `failed to chdir to cwd ("${cwd}"): ${new LinuxError(-folder, 'chdir').code}`,
    )
  await agent.call('fchdir', [folder])
}

export function killQuietly(pid: number, signal: NodeJS.Signals | number = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
