import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { isAlive } from '../../base/process-claim.ts'
import { kubeconfigPaths } from '../../client/kubeconfig.ts'
import { removeTree } from '../../linux/remove-tree.ts'
import { CliError } from '../cli-error.ts'
import {
  findServer,
  type Instance,
  instanceOf,
  type RunningServer,
  readSettings,
  releaseServer,
} from '../instance/instance.ts'
import { forgetContext } from '../instance/published-context.ts'
import { progress, say, shortPath, success } from '../printing/say.ts'

interface DownOptions {
  name?: string
  dataDir?: string
  kubeconfig?: string
  delete?: boolean
}

/** How long an orderly stop may take before the process is killed. */
const PATIENCE = 90_000
const INTERVAL = 20

export function downCommand(): Command {
  return new Command('down')
    .description(
      'Stop a cluster, or the node that joined one, and take its context out of the kubeconfig. Its state stays.',
    )
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')
    .option('--kubeconfig <file>', 'another kubeconfig that holds its context')
    .option('--delete', 'delete its state too, for ever')
    .addHelpText(
      'after',
      `
Examples:
  $ sampan down                stop; "sampan up" continues with the same state
  $ sampan down --delete       stop and delete everything
  $ sampan down --name test    stop the cluster "test"`,
    )
    .action(down)
}

async function down(options: DownOptions): Promise<void> {
  const instance = instanceOf(options)
  const server = await findServer(instance)
  if (server) await stop(server)
  await releaseServer(instance, server?.pid ?? 0)
  await stopLeftNodes(instance)
  const files = [options.kubeconfig, server?.kubeconfig, ...kubeconfigPaths()].filter((path) => path !== undefined)
  const changed = await forgetContext(instance, files)
  const joined = await joinedNode(instance)
  if (joined) tellOfNode(joined.name, joined.server, server !== undefined)
  else if (server) success(`Stopped cluster ${instance.name}`)
  else say(`Cluster ${instance.name} is not running.`)
  for (const path of changed) say(`  context ${instance.context} removed from ${shortPath(path)}`)
  await tellOfState(instance, options.delete ?? false)
}

/** Which node of which cluster this machine is, if it joined one. */
async function joinedNode({ dataDir }: Instance): Promise<{ name: string; server: string } | undefined> {
  if (!existsSync(join(dataDir, 'join.json'))) return undefined
  const { readMembership } = await import('../../cluster/join-node.ts')
  const membership = await readMembership(dataDir)
  return membership && { name: membership.node.name, server: membership.server }
}

/** A node cannot take itself out of a cluster: that is for those who run it. */
function tellOfNode(name: string, server: string, isStopped: boolean): void {
  if (isStopped) success(`Stopped node ${name} of ${server}`)
  else say(`Node ${name} of ${server} is not running.`)
  say(`  it is NotReady there soon; "kubectl delete node ${name}" takes it out of the cluster`)
}

/** Nodes outlive a server that was killed. */
async function stopLeftNodes(instance: Instance): Promise<void> {
  if (!existsSync(join(instance.dataDir, 'nodes')) || process.platform !== 'linux') return
  const [{ LocalNodes }, { kernelLinux }] = await Promise.all([
    import('../../cluster/local-nodes.ts'),
    import('../../linux/kernel-linux.ts'),
  ])
  const { dataDir } = instance
  await LocalNodes.stopLeft({ linux: kernelLinux(), dataDir, clock: systemClock, log: silentLogger })
}

async function tellOfState(instance: Instance, remove: boolean): Promise<void> {
  if (!remove) {
    say(`  state kept in ${shortPath(instance.dataDir)}`)
    return
  }
  if (!(await looksLikeOurs(instance.dataDir))) {
    throw new CliError(`${instance.dataDir} does not look like the data of a cluster; it was left alone`)
  }
  const { store = '' } = await readSettings(instance)
  await removeTree(instance.dataDir)
  say(`  ${shortPath(instance.dataDir)} deleted`)
  if (store.startsWith('etcd')) say(`  what is in ${store} was left alone`)
}

/** A mistyped --data-dir must not cost someone their home. */
async function looksLikeOurs(directory: string): Promise<boolean> {
  const { readdir } = await import('node:fs/promises')
  const names = await readdir(directory).catch(() => [])
  const ours =
    /^(pki|store(\.before-.*|\.restoring)?|(settings|join|server|network)\.json|admin\.kubeconfig|(server|audit)\.log(\.1)?|(control|api|egress)\.sock|nodes|volumes)$/
  return names.every((name) => ours.test(name))
}

async function stop(server: RunningServer): Promise<void> {
  const waiting = progress('stopping the cluster')
  try {
    process.kill(server.pid, 'SIGTERM')
    if (await isGone(server)) return
    process.kill(server.pid, 'SIGKILL')
    if (!(await isGone(server))) throw new CliError(`process ${server.pid} does not end`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') {
      throw new CliError(`process ${server.pid} belongs to another user`, ['Run this as the user who started it.'])
    }
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  } finally {
    waiting.stop()
  }
}

async function isGone(server: RunningServer): Promise<boolean> {
  for (const end = systemClock.now() + PATIENCE; systemClock.now() < end; ) {
    if (!isAlive(server)) return true
    await systemClock.sleep(INTERVAL)
  }
  return false
}
