import { hostname, networkInterfaces } from 'node:os'
import { missingPrograms } from '../../container-runtime/containerd-programs.ts'

/** What a start needs to know of the machine. */
export interface MachineFacts {
  readonly platform: string
  readonly isRoot: boolean
  readonly hostname: string
  /** Its addresses except loopback. */
  readonly addresses: readonly string[]
  /** Programs that containerd needs and that are not installed. */
  missingPrograms(): readonly string[]
}

export const thisMachine = (): MachineFacts => ({
  platform: process.platform,
  isRoot: process.getuid?.() === 0,
  hostname: hostname(),
  addresses: Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address),
  missingPrograms,
})
