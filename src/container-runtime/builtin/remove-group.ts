import type { Clock } from '../../base/clock.ts'
import type { Cgroups } from '../../linux/cgroups.ts'

const RETRY_MS = 20
const RETRIES = 100

/** Ends what is left in a group. The kernel takes a moment to let go of one whose last process has just ended. */
export async function removeGroup(cgroups: Cgroups, clock: Clock, group: string): Promise<void> {
  for (let i = 0; i < RETRIES; i++) {
    if (await cgroups.remove(group)) return
    cgroups.kill(group)
    await clock.sleep(RETRY_MS)
  }
  throw new Error(`cgroup ${group} is busy`)
}
