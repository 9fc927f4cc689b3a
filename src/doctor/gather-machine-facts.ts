import { access, constants, readdir, readFile, stat, statfs } from 'node:fs/promises'
import { freemem, release } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { askHttps, isPortOpen } from './gather/https-status.ts'
import type { MachineFacts } from './machine/facts.ts'

export interface InspectedMachine {
  readonly dataDir: string
  readonly apiPort: number
  readonly server: { readonly pid: number; readonly url: string } | undefined
  /** Whether the kernel answers questions about nftables; undefined if it answers root alone. */
  readonly hasNftables: () => boolean | undefined
}

/** Looks at this machine, and changes nothing. */
export async function gatherMachineFacts({
  dataDir,
  apiPort,
  server,
  hasNftables,
}: InspectedMachine): Promise<MachineFacts> {
  const [cgroups, namespaces, userNamespaces, fileSystems, iptablesPath, freeDiskBytes, folder, isTaken, ready] =
    await Promise.all([
      cgroupFacts(),
      readdir('/proc/self/ns').catch(() => []),
      userNamespaceFacts(),
      fileSystemsKnown(),
      programPath('iptables-restore'),
      freeDisk(dataDir),
      folderFacts(dataDir),
      isPortOpen('127.0.0.1', apiPort),
      server && askHttps(`${server.url}/readyz`),
    ])
  return {
    platform: process.platform,
    kernel: release(),
    nodeVersion: process.version,
    isRoot: isRoot(),
    ...cgroups,
    namespaces,
    userNamespaces,
    fileSystems,
    hasNftables: hasNftables(),
    iptablesPath,
    freeMemoryBytes: freemem(),
    freeDiskBytes,
    dataDir: folder,
    apiPort: { number: apiPort, isTaken },
    server: server && { pid: server.pid, readyStatus: ready?.status ?? 0 },
  }
}

const isRoot = () => process.getuid?.() === 0
const read = (path: string) => readFile(path, 'utf8').catch(() => '')

async function cgroupFacts(): Promise<Pick<MachineFacts, 'cgroupVersion' | 'cgroupControllers'>> {
  const unified = (await read('/sys/fs/cgroup/cgroup.controllers')).split(/\s+/).filter(Boolean)
  if (unified.length > 0) return { cgroupVersion: 2, cgroupControllers: unified }
  // `memory 0 1 1`: the last number says whether it is on.
  const lines = (await read('/proc/cgroups')).split('\n').map((line) => line.split('\t'))
  const mounted = await readdir('/sys/fs/cgroup').catch(() => [])
  const controllers = lines.filter(([, , , isOn]) => isOn === '1').map(([name = '']) => name)
  if (mounted.length === 0) return { cgroupVersion: undefined, cgroupControllers: [] }
  return { cgroupVersion: 1, cgroupControllers: controllers }
}

async function userNamespaceFacts(): Promise<MachineFacts['userNamespaces']> {
  const [most, clone, apparmor] = await Promise.all([
    read('/proc/sys/user/max_user_namespaces'),
    read('/proc/sys/kernel/unprivileged_userns_clone'),
    read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
  ])
  return { most: Number(most.trim() || 0), isForEveryone: clone.trim() !== '0' && apparmor.trim() !== '1' }
}

const fileSystemsKnown = async () =>
  (await read('/proc/filesystems'))
    .split('\n')
    .map((line) => line.split('\t').at(-1)!)
    .filter(Boolean)

async function programPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name)
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

/** Where the folder is, or will be. */
async function freeDisk(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || folder === dirname(folder)) return 0
    return freeDisk(dirname(folder))
  }
}

async function folderFacts(path: string): Promise<MachineFacts['dataDir']> {
  const found = await stat(path).catch(() => undefined)
  return found && { path, mode: found.mode & 0o777, isOwn: found.uid === process.getuid?.() }
}
