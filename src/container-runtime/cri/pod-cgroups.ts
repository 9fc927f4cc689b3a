import { type Cgroups, openCgroups } from '../../linux/cgroups.ts'
import type { LinuxContainerResources } from '../container-config.ts'

const TRIES = 50
const PAUSE = 20

/** The cgroups of pods. Runtimes make them as they need them, and never take them away. */
export interface PodCgroups {
  /** What the runtime is told as the parent of the pod's containers. */
  parentOf(cgroupParent: string): string
  /** Limits of the pod as a whole. */
  create(parent: string, resources: LinuxContainerResources): Promise<void>
  update(parent: string, resources: LinuxContainerResources): void
  /** Where systemd makes the group of a pod with its sandbox: how many processes the pod may have. */
  limitPod(parent: string, resources: LinuxContainerResources): void
  remove(parent: string): Promise<void>
  /** The number of processes: a file on v2. On v1 CRI has no word for it, and it is set once the container runs. */
  unified(resources: LinuxContainerResources): Readonly<Record<string, string>>
  limitProcesses(parent: string, containerId: string, resources: LinuxContainerResources): void
  processes(parent: string, containerId: string): number
}

export interface PodCgroupsOptions {
  readonly root: string
  /** systemd makes the groups, by its own rules for names. */
  readonly systemd: boolean
  readonly pause: (milliseconds: number) => Promise<void>
  readonly cgroups?: Cgroups
}

export function podCgroups(options: PodCgroupsOptions): PodCgroups {
  const { root, systemd, pause, cgroups = openCgroups({ everyHierarchy: true }) } = options
  const path = (parent: string, containerId: string) => `${parent}/${containerId}`
  return {
    parentOf: (cgroupParent) => (systemd ? slicePath(cgroupParent) : `${root}${cgroupParent}`),
    async create(parent, resources) {
      if (!systemd) await cgroups.create(parent, resources)
    },
    update(parent, resources) {
      if (!systemd && parent !== '') cgroups.update(parent, resources)
    },
    limitPod(parent, { pidsLimit }) {
      if (systemd && pidsLimit !== undefined) cgroups.update(parent, { pidsLimit })
    },
    async remove(parent) {
      if (systemd || parent === '') return
      for (let i = 0; i < TRIES && !(await cgroups.remove(parent)); i++) await pause(PAUSE)
    },
    unified({ pidsLimit }): Readonly<Record<string, string>> {
      return cgroups.version === 'v2' && pidsLimit !== undefined ? { 'pids.max': String(pidsLimit) } : {}
    },
    limitProcesses(parent, containerId, { pidsLimit }) {
      if (cgroups.version === 'v1' && !systemd && pidsLimit !== undefined)
        cgroups.update(path(parent, containerId), { pidsLimit })
    },
    processes: (parent, containerId) => (systemd ? 0 : (cgroups.stats(path(parent, containerId))?.processes ?? 0)),
  }
}

/** `/kubepods/burstable/pod1-2` is `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice` to systemd. */
export function slicePath(cgroupParent: string): string {
  const names = cgroupParent.split('/').filter(Boolean)
  const escaped = names.map((name) => name.replaceAll('-', '_'))
  return escaped.map((_, i) => `/${escaped.slice(0, i + 1).join('-')}.slice`).join('')
}
