import { Command } from 'commander'
import { humanDuration } from '../../api/meta/time.ts'
import { systemClock } from '../../base/clock.ts'
import { type ClusterStatus, status } from '../../cluster/cluster-status.ts'
import { adminKubeconfigPath, type Instance, instanceOf, type RunningServer } from '../../cluster/instance.ts'
import { addClusterFlags, type ClusterFlags } from '../cluster-flags.ts'
import { partRows } from '../printing/part-rows.ts'
import { facts, say, shortPath, success } from '../printing/say.ts'
import { formatRows } from '../printing/table.ts'

/** As `systemctl status` answers for a unit that does not run. */
const NOT_RUNNING = 3

export function statusCommand(): Command {
  const command = new Command('status').description(
    `Print whether a cluster runs, where, and the state of its parts. Exit code ${NOT_RUNNING} if it does not run.`,
  )
  return addClusterFlags(command).option('-o, --output <format>', 'json for programs').action(runStatus)
}

async function runStatus({ output, ...flags }: ClusterFlags & { readonly output?: string }): Promise<void> {
  const instance = instanceOf(flags)
  const found = await status(instance)
  if (!found.server) process.exitCode = NOT_RUNNING
  if (output === 'json') say(JSON.stringify(toJson(instance, found)))
  else if (!found.server) say(`Cluster ${instance.name} is not running. Start it: sampan up --detach`)
  else print(instance, found, found.server)
}

/** `nodes` is the number of nodes; their processes are in `nodeProcesses`. */
const toJson = ({ name, dataDir }: Instance, { server, health, nodes }: ClusterStatus) => ({
  name,
  dataDir,
  running: server !== undefined,
  ...server,
  ...health,
  nodeProcesses: nodes,
})

function print(instance: Instance, found: ClusterStatus, server: RunningServer): void {
  if (server.joinedAs) printNode(instance, server.joinedAs, server)
  else printCluster(instance, found, server)
  const rows = partRows(found, systemClock.now())
  if (rows.length > 0) say(`\n${formatRows([['PROCESS', 'PART', 'STATE', 'SINCE'], ...rows]).join('\n')}`)
}

function printNode(instance: Instance, name: string, { url, pid }: RunningServer): void {
  success(`Node ${name} of ${url} is running`)
  facts([
    ['Process', String(pid)],
    ['Data', shortPath(instance.dataDir)],
  ])
}

function printCluster(instance: Instance, { health }: ClusterStatus, { url, pid, store }: RunningServer): void {
  success(`Cluster ${instance.name} is running`)
  facts([
    ['API server', url],
    [
      'Process',
      health
        ? `${pid}, up ${humanDuration(health.uptimeSeconds * 1000)}, ${megabytes(health.residentBytes)}`
        : `${pid}, does not answer`,
    ],
    ['Store', `${store}${health ? `, at revision ${health.revision}` : ''}`],
    ['Data', shortPath(instance.dataDir)],
    ['Kubeconfig', shortPath(adminKubeconfigPath(instance))],
  ])
}

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
