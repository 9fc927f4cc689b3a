import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { type DeviceRule, STANDARD_DEVICES } from '../../linux/cgroups.ts'
import type { Device } from '../container-config.ts'

/** A device file of the host, bound into the container. */
export interface DeviceNode {
  readonly source: string
  readonly target: string
}

const STANDARD = ['null', 'zero', 'full', 'random', 'urandom', 'tty']

/** Folders and links of /dev that every container has as its own. */
const OWN = new Set(['pts', 'shm', 'mqueue', 'fd', 'stdin', 'stdout', 'stderr', 'ptmx', 'core', 'console', 'log'])

export function devicesOf(privileged: boolean, devices: readonly Device[]): DeviceNode[] {
  const nodes = new Map<string, DeviceNode>()
  const add = (source: string, target: string) => nodes.set(target, { source, target })
  for (const name of STANDARD) add(`/dev/${name}`, `/dev/${name}`)
  if (privileged) for (const file of hostDevices('/dev')) add(file, file)
  for (const { hostPath, containerPath } of devices) add(hostPath, containerPath)
  return [...nodes.values()]
}

function hostDevices(folder: string): string[] {
  const found: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (folder === '/dev' && OWN.has(entry.name)) continue
    if (entry.isDirectory()) found.push(...hostDevices(file))
    else if (entry.isCharacterDevice() || entry.isBlockDevice()) found.push(file)
  }
  return found
}

/** What a container that is not privileged may do with devices. */
export function deviceRules(devices: readonly Device[]): DeviceRule[] {
  return [...STANDARD_DEVICES, ...devices.flatMap(({ hostPath, permissions }) => ruleOf(hostPath, permissions) ?? [])]
}

function ruleOf(file: string, permissions: string): DeviceRule | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true })
  if (!stat?.isCharacterDevice() && !stat?.isBlockDevice()) return undefined
  const access = [...'rwm'].filter((letter) => permissions.includes(letter)).join('')
  return { type: stat.isBlockDevice() ? 'b' : 'c', ...deviceNumbers(stat.rdev), access }
}

/** As in the kernel's 64-bit `dev_t`: both numbers are in two parts. */
export const deviceNumbers = (rdev: bigint) => ({
  major: Number(((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & 0xfffff000n)),
  minor: Number((rdev & 0xffn) | ((rdev >> 12n) & 0xffffff00n)),
})

/** What a mount's source is; undefined if it is not there. */
export function kindOf(file: string): 'file' | 'folder' | undefined {
  try {
    return statSync(file).isDirectory() ? 'folder' : 'file'
  } catch {
    return undefined
  }
}
