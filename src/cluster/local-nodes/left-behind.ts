import { existsSync, readFileSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { readJson } from '../../base/process-claim.ts'
import { openCgroups } from '../../linux/cgroups.ts'
import { linuxCalls } from '../../linux/ffi.ts'
import { MNT_DETACH } from '../../linux/mounts.ts'
import { containerdDir, type NodeSettings, nodeCgroupRoot, nodeSettingsPath } from '../node-settings.ts'

const TRIES = 100
const PAUSE = 20

/** What a node leaves when its process could not clear up itself: processes of pods, their cgroups, mounts. */
export async function clearNode(dataDir: string, clock: Clock, log: Logger): Promise<void> {
  if (!existsSync(dataDir)) return
  const cgroups = openCgroups({ root: nodeCgroupRoot(dataDir), everyHierarchy: true })
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
  const { clearMachineNetwork } = await import('../machine-node/clear-network.ts')
  await clearMachineNetwork(settings, log)
}

/** The deepest first. */
function mountsBelow(folder: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
  return points.filter((point) => point.startsWith(`${folder}/`)).sort((a, b) => b.length - a.length)
}
