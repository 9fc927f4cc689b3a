/** The runtime that needs nothing installed: containers made by agents, on this machine's kernel. */
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { type Random, systemRandom } from '../base/random.ts'
import { openCgroups } from '../linux/cgroups.ts'
import { startSyscallAgents } from '../linux/syscall-agent.ts'
import { BuiltinRuntime } from './builtin/builtin-runtime.ts'
import { currentBootId, Records } from './builtin/records.ts'
import type { ImageContents } from './image-content.ts'
import type { ImageService } from './image-service.ts'
import type { ContainerRuntime } from './runtime.ts'
import type { SandboxNetwork } from './sandbox-network.ts'

export interface BuiltinRuntimeOptions {
  /** Records and the containers' writable layers; one runtime at a time. */
  readonly stateDir: string
  readonly network: SandboxNetwork
  readonly images: ImageService & ImageContents
  readonly clock: Clock
  readonly log: Logger
  readonly random?: Random
  /** All cgroups are below this one: `/sampan`. */
  readonly cgroupRoot?: string
  /** We are root in a user namespace of one id. */
  readonly rootless?: boolean
}

/** Adopts the containers that an earlier process left in `stateDir`. Disposing leaves them running. */
export async function startBuiltinRuntime(options: BuiltinRuntimeOptions): Promise<ContainerRuntime> {
  const { network, images, clock, log, random = systemRandom, rootless = false } = options
  const records = new Records(path.resolve(options.stateDir))
  const cgroups = openCgroups({ root: options.cgroupRoot ?? '' })
  const agents = await startSyscallAgents(path.join(records.root, 'agents'))
  if (!rootless) await cgroups.leaveRootGroups(await agents.host.call('getpid'))
  const runtime = new BuiltinRuntime({
    records,
    network,
    images,
    clock,
    log: log.child({ component: 'container-runtime' }),
    random,
    rootless,
    cgroups,
    agents,
    bootId: currentBootId(),
  })
  await runtime.recovered()
  return runtime
}
