import { Command } from 'commander'
import { type DownResult, down } from '../../cluster/cluster-down.ts'
import { type Instance, instanceOf } from '../../cluster/instance.ts'
import { addClusterFlags, type ClusterFlags } from '../cluster-flags.ts'
import { progress, say, shortPath, success } from '../printing/say.ts'

interface DownFlags extends ClusterFlags {
  readonly kubeconfig?: string
  readonly delete?: boolean
}

const EXAMPLES = `
Examples:
  $ sampan down                stop; "sampan up" continues with the same state
  $ sampan down --delete       stop and delete everything
  $ sampan down --name test    stop the cluster "test"`

export function downCommand(): Command {
  const command = new Command('down').description(
    'Stop a cluster, or the node that joined one, and take its context out of the kubeconfig. Its state stays.',
  )
  return addClusterFlags(command)
    .option('--kubeconfig <file>', 'another kubeconfig that holds its context')
    .option('--delete', 'delete its state too, for ever')
    .addHelpText('after', EXAMPLES)
    .action(runDown)
}

async function runDown({ kubeconfig, delete: remove = false, ...flags }: DownFlags): Promise<void> {
  const instance = instanceOf(flags)
  const waiting = progress('stopping the cluster')
  const request = { instance, delete: remove, ...(kubeconfig !== undefined && { kubeconfig }) }
  const result = await down(request).finally(() => waiting.stop())
  printStopped(instance, result)
  for (const path of result.kubeconfigs) say(`  context ${instance.context} removed from ${shortPath(path)}`)
  say(remove ? `  ${shortPath(instance.dataDir)} deleted` : `  state kept in ${shortPath(instance.dataDir)}`)
  if (result.etcd) say(`  what is in ${result.etcd} was left alone`)
}

function printStopped(instance: Instance, { wasRunning, joined }: DownResult): void {
  if (joined) {
    const { name, server } = joined
    if (wasRunning) success(`Stopped node ${name} of ${server}`)
    else say(`Node ${name} of ${server} is not running.`)
    // A node cannot remove itself from a cluster.
    say(`  it is NotReady there soon; "kubectl delete node ${name}" takes it out of the cluster`)
  } else if (wasRunning) success(`Stopped cluster ${instance.name}`)
  else say(`Cluster ${instance.name} is not running.`)
}
