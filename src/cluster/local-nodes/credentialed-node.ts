import type { Clock } from '../../base/clock.ts'
import { findOwner } from '../../base/process-claim.ts'
import {
  hasNodeCredentials,
  type NodeCredentialOptions,
  writeNodeCredentials,
} from '../credentials/node-credentials.ts'
import { nodeClaimPath } from '../node/node-settings.ts'
import type { NodeProcess } from '../processes/node-process.ts'

/** A node whose certificates are made by the control plane beside it. */
export class CredentialedNode {
  readonly #credentials: NodeCredentialOptions
  readonly process: NodeProcess

  private constructor(credentials: NodeCredentialOptions, process: NodeProcess) {
    this.#credentials = credentials
    this.process = process
  }

  /** A node that runs already is kept; it reads its credentials again if they had to be made anew. */
  static async start(
    credentials: NodeCredentialOptions,
    clock: Clock,
    start: () => Promise<NodeProcess>,
  ): Promise<CredentialedNode> {
    const isNew = !(await hasNodeCredentials(credentials, clock.now()))
    if (isNew) await writeNodeCredentials(credentials)
    const wasRunning = (await findOwner(nodeClaimPath(credentials.dataDir))) !== undefined
    const node = new CredentialedNode(credentials, await start())
    if (isNew && wasRunning) await node.process.restart()
    return node
  }

  /** New certificates, which another process of the node takes over: pods go on. */
  async renew(): Promise<void> {
    await writeNodeCredentials(this.#credentials)
    await this.process.restart()
  }
}
