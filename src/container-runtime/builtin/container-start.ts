import type { Clock } from '../../base/clock.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import type { SyscallAgents } from '../../linux/syscall-agent.ts'
import type { ImageContent } from '../image-content.ts'
import type { Passwd } from './identity.ts'
import type { ContainerRecord, SandboxRecord, StartRecord } from './records.ts'

export interface Machine {
  readonly agents: SyscallAgents
  readonly cgroups: Cgroups
  readonly clock: Clock
  readonly rootless: boolean
}

export interface ContainerStart {
  readonly record: ContainerRecord
  readonly folder: string
  readonly sandbox: SandboxRecord
  readonly sandboxFolder: string
  readonly image: ImageContent
  /** By their ids. */
  readonly imageVolumes: ReadonlyMap<string, ImageContent>
  /** Resolves when the container's cgroup is there. */
  readonly group: Promise<void>
  /** Users of this image, if they were read before. */
  readonly passwd?: Passwd
  /** The program is about to run: its output can be read. */
  onPrepared(starting: StartRecord): void
}
