/** The last steps of an agent before it is a program of the container: what a start and a command have in common. */
import { writeFile } from 'node:fs/promises'
import { CLONE, closeAllBut, O, O_DIRECTORY, openResolved } from '../../linux/mounts.ts'
import type { Agent, AgentChannel } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'
import { takeCredentials } from './credentials.ts'
import { seccompFilter } from './process-settings.ts'
import type { ProcessSettings } from './records.ts'

/**
 * After it nothing is open but the standard streams and `controls`, which are sockets: the path of the program may lead
 * through /proc/self/fd, to no file of the host.
 */
export async function becomeContainer(
  agent: AgentChannel,
  settings: ProcessSettings,
  rootless: boolean,
  controls: readonly number[],
): Promise<void> {
  const { identity, capabilities, noNewPrivileges } = settings
  const seccomp = seccompFilter(settings.seccomp, capabilities)
  await Promise.all([
    closeAllBut(agent, ...controls),
    agent.call('umask', [0o22]),
    takeCredentials(agent, { identity, capabilities, noNewPrivileges, seccomp, singleId: rootless }),
  ])
}

/** Never through a link to a descriptor (CVE-2024-21626). */
export async function enterWorkingFolder(agent: AgentChannel, cwd: string): Promise<void> {
  // Where the agent is since it entered the container.
  if (cwd === '/') return
  const folder = await openResolved(agent, cwd, O.PATH | O_DIRECTORY)
  if (folder < 0)
    throw new RuntimeError(
      'InvalidArgument',
      `failed to chdir to cwd ("${cwd}"): ${new LinuxError(-folder, 'chdir').code}`,
    )
  await agent.call('fchdir', [folder])
}

/** Without root there is one id only, and a user namespace per container gives it the number the container asks for. */
export const hasOwnUserNamespace = (settings: ProcessSettings, rootless: boolean) =>
  rootless && (settings.identity.uid !== 0 || settings.identity.gid !== 0)

export async function makeOwnUserNamespace({ channel, pid }: Agent, { identity }: ProcessSettings): Promise<void> {
  await channel.call('unshare', [CLONE.NEWUSER])
  await writeFile(`/proc/${pid}/setgroups`, 'deny')
  await writeFile(`/proc/${pid}/uid_map`, `${identity.uid} 0 1`)
  await writeFile(`/proc/${pid}/gid_map`, `${identity.gid} 0 1`)
}
