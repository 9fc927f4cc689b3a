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

/** Made if it is missing; refused inside /proc, where a volume could fake what the container is kept from. */
export async function mountTarget(
  agent: AgentChannel,
  target: string,
  kind: 'file' | 'folder',
  owner?: Owner,
): Promise<number> {
  const clean = path.posix.join('/', target)
  const descriptor = await openOrMake(agent, clean, { kind, owner }, 0)
  const { bytes } = await agent.answer('fstatfs', [descriptor, { out: 120 }])
  if (Number(bytes.readBigUInt64LE(0)) === PROC_MAGIC)
    throw new RuntimeError('InvalidArgument', `"${target}" cannot be mounted because it is inside /proc`)
  return descriptor
}

const find = (agent: AgentChannel, place: string) => openResolved(agent, place, O.PATH)

interface Missing {
  readonly kind: 'file' | 'folder'
  readonly owner: Owner | undefined
}

async function openOrMake(agent: AgentChannel, place: string, missing: Missing, links: number): Promise<number> {
  const found = await find(agent, place)
  if (found >= 0) return found
  if (errnoName(-found) !== 'ENOENT' || links > MAX_LINKS || place === '/') throw unusable(place, -found)
  const parent = await openOrMake(agent, path.posix.dirname(place), { ...missing, kind: 'folder' }, links + 1)
  const name = path.posix.basename(place)
  const made = await make(agent, parent, name, missing)
  if (made < 0 && errnoName(-made) !== 'EEXIST') throw unusable(place, -made)
  const opened = await find(agent, place)
  if (opened >= 0) return opened
  // It is there and yet is not: a link to what is to be made. Its text counts from the root of the container.
  const text = await agent.answer('readlinkat', [parent, name, { out: 4096 }, 4096], { soft: true, resultLength: true })
  if (text.result <= 0) throw unusable(place, -opened)
  return openOrMake(agent, path.posix.resolve(path.posix.dirname(place), text.bytes.toString()), missing, links + 1)
}

async function make(agent: AgentChannel, parent: number, name: string, { kind, owner }: Missing): Promise<number> {
  const made =
    kind === 'folder'
      ? await agent.call('mkdirat', [parent, name, 0o755], { soft: true })
      : await agent.call('mknodat', [parent, name, S_IFREG | 0o644, 0], { soft: true })
  if (made >= 0 && owner) await agent.call('fchownat', [parent, name, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW])
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
