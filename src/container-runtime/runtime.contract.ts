/** What every container runtime promises. Each runs it with what it is able to: real processes, or only their records. */
import { afterAll, beforeAll, describe } from 'vitest'
import { podScratch, type RuntimeUnderTest } from './pod-scratch.contract.ts'
import { isolationContract } from './runtime-isolation.contract.ts'
import { lifecycleContract } from './runtime-lifecycle.contract.ts'
import { processContract } from './runtime-process.contract.ts'
import { streamContract } from './runtime-streams.contract.ts'

export interface RuntimeAbilities {
  /** Programs really run. */
  readonly processes: boolean
  /** Pods have a network with a loopback of their own. */
  readonly network: boolean
  /** Limits of memory, processes and CPU are enforced. */
  readonly limits: boolean
  /** Other ids than one's own can be taken. */
  readonly users: boolean
  /** Images can be volumes. */
  readonly imageVolumes?: boolean
  /** A pod may have users of its own. */
  readonly podUsers?: boolean
  /** containerd before 1.6.22 closes the pipes of a container that ended, whatever is still in them. */
  readonly losesLastOutput?: boolean
  /** containerd's shim looks for the cause once a container has ended; it may be too late, and find its cgroup gone. */
  readonly missesOutOfMemory?: boolean
}

export function containerRuntimeContract(
  name: string,
  start: () => Promise<RuntimeUnderTest>,
  abilities: RuntimeAbilities,
): void {
  describe(`container runtime: ${name}`, () => {
    let under: RuntimeUnderTest
    beforeAll(async () => {
      under = await start()
    })
    afterAll(() => under?.[Symbol.asyncDispose]())
    const scratch = podScratch(() => under)
    lifecycleContract(scratch)
    if (!abilities.processes) return
    processContract(scratch, abilities)
    isolationContract(scratch, abilities)
    streamContract(scratch, abilities)
  })
}
