/** For a user without rights: a program that is root among its own users, networks and mounts. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { AgentChannel } from './agent/channel.ts'
import { agentExecutable } from './agent/elf.ts'
import { spawnAgent } from './agent/spawn.ts'
import { AT_FDCWD, CLONE, cloneTree, MOVE_MOUNT_F_EMPTY_PATH, MS } from './mounts.ts'
import { AgentGone } from './syscall-agent.ts'
import { ownArchitecture } from './syscall-numbers.ts'
import { hasCode } from './system-error.ts'

const NAMESPACES = CLONE.NEWUSER | CLONE.NEWNS | CLONE.NEWNET | CLONE.NEWIPC | CLONE.NEWUTS
const CLOSE_RANGE_CLOEXEC = 4
const HOST_RUN = '/run/.host'

/** The system does not allow it; the message says what may be the reason. */
export class UserNamespaceForbidden extends Error {
  override readonly name = 'UserNamespaceForbidden'
}

/**
 * Starts a program in a user namespace of its own, where this user is root and nobody else exists, with a network that
 * has no way out yet and a /run it can write. Standard streams are those of this process.
 */
export async function spawnInUserNamespace(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const directory = mkdtempSync(path.join(tmpdir(), 'sampan-'))
  try {
    const program = agentExecutable(ownArchitecture())
    const { child, channel } = await spawnAgent(directory, program, { stdio: 'inherit', detached: false })
    await becomeRoot(channel, child.pid!)
    await makeRunWritable(channel)
    await channel.call('close_range', [3, 0xffffffff, CLOSE_RANGE_CLOEXEC])
    await become(channel, command, args, env)
    return child
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function becomeRoot(agent: AgentChannel, pid: number): Promise<void> {
  try {
    await agent.call('unshare', [NAMESPACES])
    writeFileSync(`/proc/${pid}/setgroups`, 'deny')
    writeFileSync(`/proc/${pid}/uid_map`, `0 ${process.getuid!()} 1`)
    writeFileSync(`/proc/${pid}/gid_map`, `0 ${process.getgid!()} 1`)
  } catch (error) {
    agent.close()
    throw forbidden(error)
  }
}

function forbidden(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (!hasCode(error, 'EPERM', 'ENOSPC', 'EINVAL', 'ENOSYS') && !['EPERM', 'EACCES'].includes(code)) return error
  return new UserNamespaceForbidden(
    `this system does not let a plain user make a user namespace (${code}): look at the settings ` +
      'kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces, ' +
      'and at the seccomp profile if this is a container; or run as root',
    { cause: error },
  )
}

/** A new /run with everything of the old one by links, so that named network namespaces and sockets have a place. */
async function makeRunWritable(agent: AgentChannel): Promise<void> {
  await agent.call('mount', [null, '/', null, MS.REC | MS.SLAVE, null])
  const old = await cloneTree(agent, '/run')
  const steps: Promise<unknown>[] = [
    agent.call('mount', ['tmpfs', '/run', 'tmpfs', MS.NOSUID | MS.NODEV, 'mode=755']),
    agent.call('mkdirat', [AT_FDCWD, HOST_RUN, 0o755]),
    agent.call('move_mount', [old, '', AT_FDCWD, HOST_RUN, MOVE_MOUNT_F_EMPTY_PATH]),
    agent.call('mkdirat', [AT_FDCWD, '/run/netns', 0o755]),
  ]
  for (const name of readdirSync('/run'))
    if (name !== 'netns') steps.push(agent.call('symlinkat', [`.host/${name}`, AT_FDCWD, `/run/${name}`]))
  await Promise.all(steps)
}

async function become(
  agent: AgentChannel,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  try {
    await agent.call('execve', [command, { strings: [command, ...args] }, { strings: entries }])
  } catch (error) {
    if (!(error instanceof AgentGone)) {
      agent.close()
      throw error
    }
  }
}
