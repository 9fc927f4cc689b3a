/**
 * Mounts that show files of the node as every user may read them. Root of a container is root of the node, and would read what
 * belongs to root alone. On an idmapped mount whose mapping knows no user, the files belong to none that the kernel knows: then
 * only the permissions for "other" count, for root too (https://docs.kernel.org/filesystems/idmappings.html).
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  AT_FDCWD,
  CLONE,
  cloneTree,
  MNT_DETACH,
  MOUNT_ATTR,
  MOVE_MOUNT_F_EMPTY_PATH,
  MS,
  mapOwners,
  O,
  setMountAttributes,
} from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'

/** The highest id there is: no file has it. */
const UNUSED_ID = 0xfffffffe

/** Mounts each of `sources` below `folder`. Resolves to where each is mounted, by source. */
export async function mountReadableByAll(
  agents: SyscallAgents,
  sources: readonly string[],
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  const { host } = agents
  const users = await namespaceWithoutUsers(agents)
  try {
    const places = new Map<string, string>()
    for (const source of sources) {
      const place = makePlace(path.join(folder, encodeURIComponent(source)), source)
      await mountOne(host, source, place, users)
      places.set(source, place)
    }
    return places
  } finally {
    host.tell('close', [users])
  }
}

async function mountOne(host: AgentChannel, source: string, place: string, users: number): Promise<void> {
  // A process that was killed left it.
  while ((await host.call('umount2', [place, MNT_DETACH], { soft: true })) === 0);
  // Without what is mounted below it: that may be anything.
  const tree = await cloneTree(host, source, false)
  try {
    const set = MOUNT_ATTR.RDONLY | MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV
    await setMountAttributes(host, tree, { set, propagation: MS.PRIVATE })
    // Where the file system cannot do it (overlayfs, NFS), the tree is shown with its owners.
    await mapOwners(host, tree, users)
    await host.call('move_mount', [tree, '', AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH])
  } finally {
    host.tell('close', [tree])
  }
}

/** A descriptor of the host agent. */
async function namespaceWithoutUsers({ host, fork }: SyscallAgents): Promise<number> {
  const { channel, pid } = await fork(CLONE.NEWUSER)
  try {
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${file}`, `${UNUSED_ID} ${UNUSED_ID} 1`)
    return await host.call('openat', [AT_FDCWD, `/proc/${pid}/ns/user`, O.RDONLY | O.CLOEXEC, 0])
  } finally {
    channel.close()
  }
}

function makePlace(place: string, source: string): string {
  mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 })
  if (statSync(source).isDirectory()) mkdirSync(place, { recursive: true, mode: 0o755 })
  else if (!existsSync(place)) writeFileSync(place, '')
  return place
}

/** The content of a file, if everyone may read it. */
export function readIfPublic(file: string): Buffer | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() && (found.mode & 0o004) !== 0 ? readFileSync(file) : undefined
}
