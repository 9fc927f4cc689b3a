import { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { type UpResult, up } from '../../cluster/cluster-up.ts'
import { flagsOf, type Instance, instanceOf, type RunningServer } from '../../cluster/instance.ts'
import type { ClusterFlags } from '../cluster-flags.ts'
import { addConfigurationFlags, configurationFrom } from '../configuration-flags.ts'
import { colours, facts, progress, say, shortPath, success } from '../printing/say.ts'

interface UpFlags extends ClusterFlags {
  readonly detach?: boolean
  readonly demo?: boolean
  readonly kubeconfig?: string
}

const EXAMPLES = `
Examples:
  $ sampan up                                   in the foreground, Ctrl-C stops it
  $ sampan up --demo                            with three pods behind a Service
  $ sampan up --detach                          in the background, "sampan down" stops it
  $ sampan up -d --name test --api-port 0       a second cluster on any free port
  $ sampan up --nodes 3                         three nodes, each in a network of its own
  $ sampan up -d --listen 192.168.1.10          other machines may join: see "sampan token create --help"
  $ sampan up --runtime containerd              pods run by a containerd of the cluster's own
  $ sampan up --nodes 1000 --runtime simulated  with nodes on which pods exist in the API only
  $ sampan up --store memory                    nothing is written to disk but certificates
  $ sampan up --store etcd://10.0.0.1:2379      the state is kept in etcd (etcds:// for TLS)`

export function upCommand(serverEntry: string): Command {
  const command = new Command('up')
    .description('Start a cluster, or find the one that runs.')
    .option('-d, --detach', 'run in the background and return when the API answers')
    .option('--demo', 'with three pods behind a Service, to look at')
    .option('--name <name>', 'which cluster; several can run side by side (default: default)')
    .option('--data-dir <dir>', 'where to keep its state')
    .option('--kubeconfig <file>', 'kubeconfig to add the context to (default: $KUBECONFIG or ~/.kube/config)')
  return addConfigurationFlags(command, 'up')
    .addHelpText('after', EXAMPLES)
    .action((flags: UpFlags) => runUp(flags, serverEntry))
}

async function runUp(flags: UpFlags, serverEntry: string): Promise<void> {
  const instance = instanceOf(flags)
  const waiting = progress('starting the cluster')
  const result = await up({
    instance,
    configuration: configurationFrom({ ...flags }),
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    detach: flags.detach ?? false,
    serverEntry,
  }).finally(() => waiting.stop())
  if (result.foreground) return runForeground(instance, result, result.foreground, flags)
  announce(instance, result)
  if (flags.demo) await runDemo(instance, result)
  if (!result.wasRunning) say(`  sampan logs -f${flagsOf(instance)}\n  sampan down${flagsOf(instance)}`)
}

async function runForeground(
  instance: Instance,
  result: UpResult,
  foreground: NonNullable<UpResult['foreground']>,
  flags: UpFlags,
): Promise<void> {
  try {
    announce(instance, result)
    if (flags.demo) await Promise.race([runDemo(instance, result), foreground.stopRequested])
    say(`\n${colours.dim('Ctrl-C stops the cluster.')}`)
    await foreground.stopRequested
    say('\nStopping …')
  } finally {
    await foreground[Symbol.asyncDispose]()
  }
  const isInMemory = result.configuration.store === 'memory'
  success(isInMemory ? 'Stopped; its state was in memory.' : 'Stopped; "sampan up" continues from here.')
}

async function runDemo({ name, dataDir }: Instance, { configuration }: UpResult): Promise<void> {
  const { runDemo } = await import('../demo.ts')
  await runDemo({ name, dataDir }, configuration.runtime === 'simulated')
}

function announce(instance: Instance, { server, configuration, kubeconfig, wasRunning }: UpResult): void {
  if (wasRunning) {
    success(`Kubernetes is already up (process ${server.pid})`)
    say()
    describe(instance, server, kubeconfig)
    return
  }
  // From the start of this process, so that loading the program counts too.
  success(`Kubernetes is up in ${Math.round(systemClock.now() - performance.timeOrigin)} ms`)
  say()
  describe(instance, server, kubeconfig)
  const flags = flagsOf(instance)
  say(`\n${colours.bold('Try')}\n  kubectl get namespaces\n  sampan get all -A${flags}`)
  if (configuration.listen) say(`  sampan token create --print-join-command${flags}   for another machine to join`)
}

function describe(instance: Instance, server: RunningServer, kubeconfig: string): void {
  const { url, store } = server
  facts([
    ['API server', url],
    ['Store', store === 'embedded' ? `embedded, in ${shortPath(instance.dataDir)}` : store],
    ['Runs', runsText(server)],
    ['Context', `${instance.context}, current in ${shortPath(kubeconfig)}`],
  ])
}

function runsText({ nodes, runtime = 'simulated' }: RunningServer): string {
  if (!nodes) return 'the control plane; no nodes, so pods stay Pending'
  const kind = runtime === 'simulated' ? 'simulated node' : 'node'
  return `the control plane and ${nodes === 1 ? `a ${kind}` : `${nodes} ${kind}s`}`
}
