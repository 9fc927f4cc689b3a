/** A node that is the machine itself, in the machine's own network, as in a cluster of several machines. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { findOwner } from '../../base/process-claim.ts'
import type { Linux } from '../../linux/linux.ts'
import { type NodeSettings, nodeClaimPath, nodeSettingsPath } from '../node/node-settings.ts'
import { NodeProcess } from '../processes/node-process.ts'
import { CredentialedNode } from './credentialed-node.ts'
import { assertNetworkFree } from './free-network.ts'
import { assertPortsFree } from './free-ports.ts'
import type { NodesStart, RealNodes } from './real-nodes.ts'

export interface MachineNodeOptions {
  readonly name: string
  /** By which other machines reach this one. */
  readonly address: string
  /** The cluster's own; the node has a folder below. */
  readonly dataDir: string
  /** The program, `sampan-node.js`. */
  readonly entry: string
  readonly linux: Linux
  readonly clock: Clock
  readonly log: Logger
}

/** Starts the process of such a node, or finds the one that runs. Its credentials are in its folder already. */
export async function startMachineNode(
  settings: NodeSettings,
  options: Pick<MachineNodeOptions, 'entry' | 'linux' | 'clock' | 'log'>,
): Promise<NodeProcess> {
  // The next node goes on with what one that was killed left.
  if (!existsSync(nodeSettingsPath(settings.dataDir))) assertNetworkFree(options.linux, settings)
  if (!(await findOwner(nodeClaimPath(settings.dataDir)))) await assertPortsFree(settings.address)
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 })
  await writeFileAtomically(nodeSettingsPath(settings.dataDir), `${JSON.stringify(settings, null, 2)}\n`)
  const node = new NodeProcess({ ...options, settings })
  await node.start()
  return node
}

export const nodeDir = (dataDir: string, name: string) => join(dataDir, 'nodes', name)

/** The node of the machine that the control plane runs on. */
export class MachineNode implements RealNodes {
  readonly gateway: string
  readonly #options: MachineNodeOptions
  #node: CredentialedNode | undefined

  constructor(options: MachineNodeOptions) {
    this.#options = options
    this.gateway = options.address
  }

  /** It shares the machine's loopback. */
  reachableDns = async (servers: readonly string[]) => servers

  async start({ count, server, certificates, settings }: NodesStart): Promise<void> {
    if (count === 0) return
    const { name, address } = this.#options
    const dataDir = nodeDir(this.#options.dataDir, name)
    const credentials = { node: name, address, dataDir, server, certificates }
    this.#node = await CredentialedNode.start(credentials, systemClock, () =>
      startMachineNode({ ...settings, name, address, dataDir, isMachine: true }, this.#options),
    )
  }

  async renewCredentials(): Promise<void> {
    await this.#node?.renew()
  }

  async stop(): Promise<void> {
    await this.#node?.process.stop()
  }

  /** The network is the machine's own. */
  async removeNetwork(): Promise<void> {}
}
