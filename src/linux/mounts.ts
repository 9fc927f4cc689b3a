/** Mounts made by an agent in its own mount namespace, by descriptor wherever somebody else could have placed a symlink. */
import type { AgentChannel } from './syscall-agent.ts'

export const MS = {
  RDONLY: 1,
  NOSUID: 2,
  NODEV: 4,
  NOEXEC: 8,
  REMOUNT: 32,
  BIND: 4096,
  REC: 16384,
  PRIVATE: 1 << 18,
  SLAVE: 1 << 19,
  SHARED: 1 << 20,
} as const

export const CLONE = {
  /** The new process becomes a sibling of the calling one. */
  PARENT: 0x8000,
  NEWNS: 0x20000,
  NEWCGROUP: 0x2000000,
  NEWUTS: 0x4000000,
  NEWIPC: 0x8000000,
  NEWUSER: 0x10000000,
  NEWPID: 0x20000000,
  NEWNET: 0x40000000,
} as const

export const MNT_DETACH = 2
export const AT_FDCWD = -100
export const AT_EMPTY_PATH = 0x1000
export const O = {
  RDONLY: 0,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  NOCTTY: 0o400,
  TRUNC: 0o1000,
  NONBLOCK: 0o4000,
  CLOEXEC: 0o2000000,
  PATH: 0o10000000,
} as const
/** These differ between architectures. */
export const O_DIRECTORY = process.arch === 'arm64' ? 0o40000 : 0o200000
export const O_NOFOLLOW = process.arch === 'arm64' ? 0o100000 : 0o400000

const RESOLVE_NO_MAGICLINKS = 2
export const RESOLVE_NO_SYMLINKS = 4
const RESOLVE_IN_ROOT = 0x10

const AT_RECURSIVE = 0x8000
const OPEN_TREE_CLONE = 1
export const MOVE_MOUNT_F_EMPTY_PATH = 4
const MOVE_MOUNT_T_EMPTY_PATH = 0x40

export const MOUNT_ATTR = { RDONLY: 1, NOSUID: 2, NODEV: 4, NOEXEC: 8, STRICTATIME: 0x20 } as const
const MOUNT_ATTR_IDMAP = 0x100000

/** A detached copy of the tree at a path: nobody can redirect it any more. Resolves to its descriptor. */
export function cloneTree(agent: AgentChannel, path: string, recursive = true): Promise<number> {
  const flags = OPEN_TREE_CLONE | O.CLOEXEC | (recursive ? AT_RECURSIVE : 0)
  return agent.call('open_tree', [AT_FDCWD, path, flags])
}

/** The same of a folder that is open. */
export function cloneTreeOf(agent: AgentChannel, folder: number): Promise<number> {
  return agent.call('open_tree', [folder, '', OPEN_TREE_CLONE | O.CLOEXEC | AT_EMPTY_PATH])
}

const FSOPEN_CLOEXEC = 1
const FSMOUNT_CLOEXEC = 1
const FSCONFIG_SET_STRING = 1
const FSCONFIG_CMD_CREATE = 6

/** A new file system that is mounted nowhere yet. Resolves to its descriptor. */
export async function newMount(
  agent: AgentChannel,
  type: string,
  attributes: number,
  options: Readonly<Record<string, string>> = {},
): Promise<number> {
  const steps = [agent.call('fsopen', [type, FSOPEN_CLOEXEC], { keep: true })]
  const configure = (command: number, key: string | null, value: string | null) =>
    steps.push(agent.call('fsconfig', [0, command, key, value, 0], { useKept: true }))
  for (const [key, value] of Object.entries(options)) configure(FSCONFIG_SET_STRING, key, value)
  configure(FSCONFIG_CMD_CREATE, null, null)
  const mounted = agent.call('fsmount', [0, FSMOUNT_CLOEXEC, attributes], { useKept: true })
  agent.tell('close', [0], { useKept: true })
  await Promise.all(steps)
  return mounted
}

export interface MountAttributes {
  readonly set?: number
  readonly propagation?: number
  readonly recursive?: boolean
}

export function setMountAttributes(agent: AgentChannel, tree: number, attributes: MountAttributes): Promise<number> {
  const struct = Buffer.alloc(32)
  struct.writeBigUInt64LE(BigInt(attributes.set ?? 0), 0)
  struct.writeBigUInt64LE(BigInt(attributes.propagation ?? 0), 16)
  const flags = AT_EMPTY_PATH | (attributes.recursive ? AT_RECURSIVE : 0)
  return agent.call('mount_setattr', [tree, '', flags, struct, struct.length])
}

/** Files of the tree belong to the ids that this user namespace has for theirs. A negated errno is a result. */
export function mapOwners(agent: AgentChannel, tree: number, userNamespace: number): Promise<number> {
  const struct = Buffer.alloc(32)
  struct.writeBigUInt64LE(BigInt(MOUNT_ATTR_IDMAP), 0)
  struct.writeBigUInt64LE(BigInt(userNamespace), 24)
  return agent.call('mount_setattr', [tree, '', AT_EMPTY_PATH | AT_RECURSIVE, struct, struct.length], { soft: true })
}

/** Mounts the tree on an open place. */
export function attachTree(agent: AgentChannel, tree: number, target: number): Promise<number> {
  const flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
  return agent.call('move_mount', [tree, '', target, '', flags])
}

/** Mounts the tree on an entry of an open folder that no other process can change. */
export function attachTreeAt(agent: AgentChannel, tree: number, folder: number, name: string): Promise<number> {
  return agent.call('move_mount', [tree, '', folder, name, MOVE_MOUNT_F_EMPTY_PATH])
}

/** As if the folder were the root: no link leads out of it. A negated errno is a result. */
export function openInRoot(agent: AgentChannel, folder: number, path: string, flags: number): Promise<number> {
  const how = openHow(flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
  return agent.call('openat2', [folder, path, how, how.length], { soft: true })
}

/**
 * A path of a container, as the agent inside of it sees it, never through a magic link such as /proc/self/fd/3. A negated
 * errno is a result.
 */
export function openResolved(
  agent: AgentChannel,
  path: string,
  flags: number,
  { resolve = 0, keep = false }: { readonly resolve?: number; readonly keep?: boolean } = {},
): Promise<number> {
  const how = openHow(flags, resolve | RESOLVE_NO_MAGICLINKS)
  return agent.call('openat2', [AT_FDCWD, path, how, how.length], { soft: true, keep })
}

function openHow(flags: number, resolve: number): Buffer {
  const how = Buffer.alloc(24)
  how.writeBigUInt64LE(BigInt(flags | O.CLOEXEC), 0)
  how.writeBigUInt64LE(BigInt(resolve), 16)
  return how
}

/** Closes every descriptor from 3 on but these. */
export function closeAllBut(agent: AgentChannel, ...kept: readonly number[]): Promise<unknown> {
  const steps: Promise<number>[] = []
  let first = 3
  for (const descriptor of [...kept].sort((a, b) => a - b)) {
    if (descriptor > first) steps.push(agent.call('close_range', [first, descriptor - 1, 0]))
    first = Math.max(first, descriptor + 1)
  }
  return Promise.all([...steps, agent.call('close_range', [first, 0xffffffff, 0])])
}
