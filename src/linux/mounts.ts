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
  STRICTATIME: 1 << 24,
} as const

export const CLONE = {
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

export const RESOLVE_NO_MAGICLINKS = 2
export const RESOLVE_NO_SYMLINKS = 4
const RESOLVE_IN_ROOT = 0x10

const AT_RECURSIVE = 0x8000
const OPEN_TREE_CLONE = 1
export const MOVE_MOUNT_F_EMPTY_PATH = 4
const MOVE_MOUNT_T_EMPTY_PATH = 0x40

export const MOUNT_ATTR = { RDONLY: 1, NOSUID: 2, NODEV: 4, NOEXEC: 8 } as const
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
const FSCONFIG_CMD_CREATE = 6

/** A new file system that is mounted nowhere yet. Resolves to its descriptor. */
export function newMount(agent: AgentChannel, type: string, attributes: number): Promise<number> {
  const opened = agent.call('fsopen', [type, FSOPEN_CLOEXEC], { keep: true })
  const created = agent.call('fsconfig', [0, FSCONFIG_CMD_CREATE, null, null, 0], { useKept: true })
  const mounted = agent.call('fsmount', [0, FSMOUNT_CLOEXEC, attributes], { useKept: true })
  agent.tell('close', [0], { useKept: true })
  return Promise.all([opened, created, mounted]).then(([, , descriptor]) => descriptor)
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

export function attachTree(agent: AgentChannel, tree: number, target: number): Promise<number> {
  const flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
  return agent.call('move_mount', [tree, '', target, '', flags])
}

/** As if the folder were the root: no link leads out of it. A negated errno is a result. */
export function openInRoot(agent: AgentChannel, folder: number, path: string, flags: number): Promise<number> {
  const how = Buffer.alloc(24)
  how.writeBigUInt64LE(BigInt(flags | O.CLOEXEC), 0)
  how.writeBigUInt64LE(BigInt(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS), 16)
  return agent.call('openat2', [folder, path, how, how.length], { soft: true })
}

/** openat2 without answers that are errors: a negated errno is a result. */
export function openResolved(agent: AgentChannel, path: string, flags: number, resolve: number): Promise<number> {
  const how = Buffer.alloc(24)
  how.writeBigUInt64LE(BigInt(flags | O.CLOEXEC), 0)
  how.writeBigUInt64LE(BigInt(resolve), 16)
  return agent.call('openat2', [AT_FDCWD, path, how, how.length], { soft: true })
}
