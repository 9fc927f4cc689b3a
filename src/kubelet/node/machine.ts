import { readFile, statfs } from 'node:fs/promises'
import { arch, cpus, release, totalmem } from 'node:os'

/** What the machine is, as a Node tells it. */
export interface Machine {
  readonly cpus: number
  readonly memoryBytes: number
  readonly storageBytes: number
  readonly machineID: string
  readonly systemUUID: string
  readonly bootID: string
  readonly kernelVersion: string
  readonly osImage: string
  /** In Go's words: `amd64`. */
  readonly architecture: string
  readonly swapBytes: number
}

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', ia32: '386' }

export async function readMachine(rootDir: string): Promise<Machine> {
  const text = (file: string) =>
    readFile(file, 'utf8').then(
      (content) => content.trim(),
      () => '',
    )
  const [machineID, productUUID, bootID, release_, memory, disk] = await Promise.all([
    text('/etc/machine-id'),
    text('/sys/class/dmi/id/product_uuid'),
    text('/proc/sys/kernel/random/boot_id'),
    text('/etc/os-release'),
    text('/proc/meminfo'),
    statfs(rootDir).catch(() => undefined),
  ])
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1] ?? 0)
  return {
    cpus: Math.max(1, cpus().length),
    memoryBytes: kilobytes('MemTotal') * 1024 || totalmem(),
    storageBytes: disk ? disk.blocks * disk.bsize : 0,
    machineID,
    systemUUID: productUUID || machineID,
    bootID,
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(release_)?.[1] ?? 'Linux',
    architecture: ARCHITECTURES[arch()] ?? arch(),
    swapBytes: kilobytes('SwapTotal') * 1024,
  }
}
