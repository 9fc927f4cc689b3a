import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { readJson } from '../../base/process-claim.ts'
import { openCgroups } from '../../linux/cgroups.ts'
import { linuxCalls } from '../../linux/ffi.ts'
import { MNT_DETACH } from '../../linux/mounts.ts'
import {
  cgroupParentPath,
  containerdDir,
  type NodeSettings,
  nodeCgroupRoot,
  nodeSettingsPath,
} from '../node/node-settings.ts'

const TRIES = 100
const PAUSE = 20

/** What a node leaves when its process could not clear up itself: processes of pods, their cgroups, mounts. */
export async function clearNode(dataDir: string, clock: Clock, log: Logger): Promise<void> {
  if (!existsSync(dataDir)) return
  killContainersOf(dataDir)
  const cgroups = openCgroups({ root: cgroupParent(dataDir) + nodeCgroupRoot(dataDir), everyHierarchy: true })
  for (let i = 0; i < TRIES && !(await cgroups.remove('')); i++) {
    cgroups.kill('')
    await clock.sleep(PAUSE)
  }
  if (existsSync(containerdDir(dataDir))) {
    const { clearPrivateContainerd } = await import('../../container-runtime/private-containerd.ts')
    await clearPrivateContainerd(containerdDir(dataDir), clock)
  }
  for (const path of mountsBelow(dataDir)) linuxCalls().umount(path, MNT_DETACH)
  const settings = await readJson<NodeSettings>(nodeSettingsPath(dataDir))
  if (!settings?.isMachine) return
  const { clearMachineNetwork } = await import('../node/clear-network.ts')
  await clearMachineNetwork(settings, log)
}

const cgroupParent = (dataDir: string) => attempt(() => readFileSync(cgroupParentPath(dataDir), 'utf8')) ?? ''

/** The deepest first. */
function mountsBelow(folder: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
  return points.filter((point) => point.startsWith(`${folder}/`)).sort((a, b) => b.length - a.length)
}

/**
 * Without root there may be no cgroup to find them by, and shims are in none. A container's root has its upper layer in the
 * node's folder; shims hold files there.
 */
function killContainersOf(dataDir: string): void {
  const folder = join(dataDir, 'containers')
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue
    if (!hasRootIn(pid, folder) && !holdsFileIn(pid, folder)) continue
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

function hasRootIn(pid: string, folder: string): boolean {
  const root = attempt(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n', 1)[0])
  return root?.includes(`upperdir=${folder}/`) ?? false
}

function holdsFileIn(pid: string, folder: string): boolean {
  const descriptors = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []
  return descriptors.some((fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`))?.startsWith(`${folder}/`))
}

/** Processes end while one looks at them, and those of others are none of ours. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
