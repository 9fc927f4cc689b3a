/**
 * Where a volume goes in a container. The path leads through folders that the image or another volume fills, so it is
 * walked after the root has changed, never through a magic link of /proc, and ends as a descriptor.
 */
import path from 'node:path'
import { AT_FDCWD, O, openResolved, RESOLVE_NO_SYMLINKS } from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'
import type { Owner } from './pod-users.ts'

const S_IFREG = 0o100000
const AT_SYMLINK_NOFOLLOW = 0x100
const PROC_MAGIC = 0x9fa0
const MAX_LINKS = 40

/** Opens the mount point, and makes it if it is missing. Rejects /proc: a volume there could fake what the kernel reports. */
export async function mountTarget(
  agent: AgentChannel,
  target: string,
  kind: 'file' | 'folder',
  owner?: Owner,
): Promise<number> {
  const { descriptor, isProc } = await openOrMake(agent, path.posix.join('/', target), { kind, owner }, 0)
  if (isProc) throw new RuntimeError('InvalidArgument', `mount point ${target}: a volume may not cover a part of /proc`)
  return descriptor
}

interface Found {
  /** A negated errno if it was not found. */
  readonly descriptor: number
  readonly isProc: boolean
}

async function find(agent: AgentChannel, place: string): Promise<Found> {
  const opened = openResolved(agent, place, O.PATH, { keep: true })
  const { bytes } = await agent.answer('fstatfs', [0, { out: 120 }], { useKept: true, soft: true })
  return { descriptor: await opened, isProc: Number(bytes.readBigUInt64LE(0)) === PROC_MAGIC }
}

interface Missing {
  readonly kind: 'file' | 'folder'
  readonly owner: Owner | undefined
}

async function openOrMake(agent: AgentChannel, place: string, missing: Missing, links: number): Promise<Found> {
  const found = await find(agent, place)
  if (found.descriptor >= 0) return found
  if (errnoName(-found.descriptor) !== 'ENOENT' || links > MAX_LINKS || place === '/')
    throw unusable(place, -found.descriptor)
  const { descriptor: parent } = await openOrMake(
    agent,
    path.posix.dirname(place),
    { ...missing, kind: 'folder' },
    links + 1,
  )
  const name = path.posix.basename(place)
  const [made, opened] = await Promise.all([make(agent, parent, name, missing), find(agent, place)])
  if (made < 0 && errnoName(-made) !== 'EEXIST') throw unusable(place, -made)
  if (opened.descriptor >= 0) return opened
  // It is there and yet is not: a link to what is to be made. Its text counts from the root of the container.
  const text = await agent.answer('readlinkat', [parent, name, { out: 4096 }, 4096], { soft: true, resultLength: true })
  if (text.result <= 0) throw unusable(place, -opened.descriptor)
  return openOrMake(agent, path.posix.resolve(path.posix.dirname(place), text.bytes.toString()), missing, links + 1)
}

async function make(agent: AgentChannel, parent: number, name: string, { kind, owner }: Missing): Promise<number> {
  const made =
    kind === 'folder'
      ? agent.call('mkdirat', [parent, name, 0o755], { soft: true })
      : agent.call('mknodat', [parent, name, S_IFREG | 0o644, 0], { soft: true })
  if ((await made) >= 0 && owner)
    await agent.call('fchownat', [parent, name, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW])
  return made
}

const unusable = (place: string, errno: number) =>
  new RuntimeError('InvalidArgument', `mount point ${place}: ${errnoName(errno)}`)

/** A folder that must not be a link: where one of the kernel's own file systems goes. Resolves to its descriptor. */
export async function ownFolder(agent: AgentChannel, folder: string): Promise<number> {
  agent.tell('mkdirat', [AT_FDCWD, folder, 0o755])
  const opened = await openResolved(agent, folder, O.PATH, { resolve: RESOLVE_NO_SYMLINKS })
  if (opened < 0) throw unusable(folder, -opened)
  return opened
}
