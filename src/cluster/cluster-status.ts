/** What `sampan status` tells: whether a cluster runs, where, and in which state its parts are. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findOwner, type ProcessRecord, readJson } from '../base/process-claim.ts'
import { findServer, type Instance, type RunningServer } from './instance.ts'
import { nodeClaimPath, nodePartsPath } from './node/node-settings.ts'
import type { PartStatus } from './part.ts'
import { askControl, controlSocketPath, type ServerStatus } from './processes/control-socket.ts'

export interface NodeStatus {
  readonly name: string
  readonly pid: number
  readonly parts: readonly PartStatus[]
}

export interface ClusterStatus {
  /** Undefined if nothing runs. */
  readonly server?: RunningServer
  /** Undefined if the server does not answer, and for a joined node. */
  readonly health?: ServerStatus
  /** The processes of nodes on this machine. */
  readonly nodes: readonly NodeStatus[]
}

export async function status(instance: Instance): Promise<ClusterStatus> {
  const server = await findServer(instance)
  const nodes = await runningNodes(instance.dataDir)
  if (!server) return { nodes }
  const health = await askControl(controlSocketPath(instance.dataDir), 'status').catch(() => undefined)
  return { server, nodes, ...(health && { health }) }
}

async function runningNodes(dataDir: string): Promise<NodeStatus[]> {
  const names = (await readdir(join(dataDir, 'nodes')).catch(() => [])).sort()
  const found = await Promise.all(
    names.map(async (name) => {
      const folder = join(dataDir, 'nodes', name)
      const owner = await findOwner<ProcessRecord>(nodeClaimPath(folder))
      if (!owner) return []
      const parts = await readJson<PartStatus[]>(nodePartsPath(folder))
      return [{ name, pid: owner.pid, parts: parts ?? [] }]
    }),
  )
  return found.flat()
}
