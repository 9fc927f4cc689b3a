import { readFile, statfs } from 'node:fs/promises'

/** What the whole machine uses. */
export interface NodeUsage {
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly cpuNanoseconds: number
  readonly memoryTotalBytes: number
  readonly memoryAvailableBytes: number
  readonly memoryWorkingSetBytes: number
  readonly filesystem: {
    readonly capacityBytes: number
    readonly availableBytes: number
    readonly inodes: number
    readonly inodesFree: number
  }
  /** Of the whole machine: how many there may be, and are. */
  readonly pids: { readonly limit: number; readonly running: number }
  readonly network: { readonly rxBytes: number; readonly txBytes: number }
}

const TICK_NANOSECONDS = 10_000_000

export async function readNodeUsage(rootDir: string, now: number): Promise<NodeUsage> {
  const text = (file: string) => readFile(file, 'utf8').catch(() => '')
  const [cpu, memory, devices, load, pidMax, threadsMax, disk] = await Promise.all([
    text('/proc/stat'),
    text('/proc/meminfo'),
    text('/proc/net/dev'),
    text('/proc/loadavg'),
    text('/proc/sys/kernel/pid_max'),
    text('/proc/sys/kernel/threads-max'),
    statfs(rootDir).catch(() => undefined),
  ])
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1] ?? 0) * 1024
  const total = bytes('MemTotal')
  const available = bytes('MemAvailable')
  return {
    timestamp: now,
    cpuNanoseconds: busyTicks(cpu) * TICK_NANOSECONDS,
    memoryTotalBytes: total,
    memoryAvailableBytes: available,
    memoryWorkingSetBytes: total - available,
    filesystem: {
      capacityBytes: disk ? disk.blocks * disk.bsize : 0,
      availableBytes: disk ? disk.bavail * disk.bsize : 0,
      inodes: disk?.files ?? 0,
      inodesFree: disk?.ffree ?? 0,
    },
    pids: {
      limit: Math.min(Number(pidMax), Number(threadsMax)),
      running: Number(/\/(\d+)/.exec(load)?.[1] ?? 0),
    },
    network: interfaceTotals(devices),
  }
}

/** user, nice, system, irq, softirq and steal; neither idle nor waiting for a disk. */
function busyTicks(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '')
    .split(' ')
    .map(Number)
  return user + nice + system + irq + softirq + steal
}

function interfaceTotals(devices: string): { rxBytes: number; txBytes: number } {
  let rxBytes = 0
  let txBytes = 0
  for (const [, name, rest = ''] of devices.matchAll(/^\s*(\S+):\s*(.*)$/gm)) {
    if (name === 'lo') continue
    const figures = rest.trim().split(/\s+/).map(Number)
    rxBytes += figures[0] ?? 0
    txBytes += figures[8] ?? 0
  }
  return { rxBytes, txBytes }
}
