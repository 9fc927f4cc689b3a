/**
 * The first process of a PID namespace that a pod's containers share. It waits for ever and reaps those that are left to
 * it. A container with SYS_PTRACE can take it over, so it has nothing to give: an empty root, the namespaces of the pod, no
 * rights.
 */
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { makeFifo, openAs } from '../../linux/agent-files.ts'
import { CLONE, closeAllBut, MNT_DETACH, MS, O } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { takeCredentials } from './credentials.ts'
import { signalThrough } from './pipes.ts'
import { seccompFilter } from './process-settings.ts'
import { keep, sharedProcPath } from './sandbox.ts'

const PAUSE = 'pause'
const WAKE = 20
const FIRST_NAMESPACE = 21
const SIGCHLD = 17
const SIG_IGN = 1
const PR_SET_NAME = 15
const NOBODY = { uid: 65_535, gid: 65_535, groups: [], home: '/' }

export interface PauseOptions {
  readonly folder: string
  /** Files of the namespaces that it shares with the pod. */
  readonly namespaces: readonly string[]
  readonly rootless: boolean
  joinGroup(pid: number): Promise<void>
}

export async function holdPidNamespace(agents: SyscallAgents, options: PauseOptions): Promise<void> {
  const { folder, namespaces, rootless } = options
  const { channel, pid, control } = await agents.fork(CLONE.NEWPID)
  const wake = path.join(folder, PAUSE)
  mkdirSync(sharedProcPath(folder))
  try {
    await Promise.all([
      options.joinGroup(pid),
      keep({ agent: agents.host, pid: String(pid) }, folder, 'pid'),
      // Only a process of the namespace can mount its /proc.
      channel.call('mount', ['proc', sharedProcPath(folder), 'proc', MS.NOSUID | MS.NODEV | MS.NOEXEC, null]),
      makeFifo(channel, wake),
      openAs(channel, WAKE, wake, O.RDWR),
      ...namespaces.flatMap((file, i) => [
        openAs(channel, FIRST_NAMESPACE + i, file, O.RDONLY),
        channel.call('setns', [FIRST_NAMESPACE + i, 0]),
      ]),
    ])
    await Promise.all([
      channel.call('unshare', [CLONE.NEWNS | CLONE.NEWCGROUP]),
      enterEmptyRoot(channel, folder),
      reapChildren(channel),
      channel.call('prctl', [PR_SET_NAME, PAUSE, 0, 0, 0]),
      closeAllBut(channel, control, WAKE),
      takeCredentials(channel, {
        identity: NOBODY,
        capabilities: [],
        noNewPrivileges: true,
        seccomp: seccompFilter({ type: 'RuntimeDefault' }, []),
        singleId: rootless,
      }),
    ])
    channel.tell('read', [WAKE, { out: 8 }, 1])
    channel.tell('exit_group', [0])
  } finally {
    channel.close()
  }
}

function enterEmptyRoot(agent: AgentChannel, anyFolder: string): Promise<unknown> {
  return Promise.all([
    agent.call('mount', [null, '/', null, MS.REC | MS.PRIVATE, null]),
    agent.call('mount', ['tmpfs', anyFolder, 'tmpfs', MS.RDONLY | MS.NOSUID | MS.NODEV | MS.NOEXEC, 'size=0k']),
    agent.call('chdir', [anyFolder]),
    agent.call('pivot_root', ['.', '.']),
    agent.call('umount2', ['.', MNT_DETACH]),
    agent.call('chdir', ['/']),
  ])
}

function reapChildren(agent: AgentChannel): Promise<number> {
  const ignore = Buffer.alloc(32)
  ignore.writeBigUInt64LE(BigInt(SIG_IGN), 0)
  return agent.call('rt_sigaction', [SIGCHLD, ignore, 0, 8])
}

/** Ends the first process of a shared PID namespace, and with it all others. */
export function endPause(folder: string): void {
  const wake = path.join(folder, PAUSE)
  if (existsSync(wake)) signalThrough(wake)
}
