import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { FEATURE_GATES, type FeatureGate, parseFeatureGates } from '../../api/feature-gates.ts'
import { systemClock } from '../../base/clock.ts'
import { kubeletChoices } from '../../cluster/node-settings.ts'
import { parseStoreChoice } from '../../cluster/store-choice.ts'
import { CliError } from '../cli-error.ts'
import {
  findServer,
  flagsOf,
  type Instance,
  instanceOf,
  type NodeRuntime,
  type RunningServer,
  readSettings,
  type Settings,
} from '../instance/instance.ts'
import { withKubeletFlags } from '../instance/kubelet-flags.ts'
import { withMachines } from '../instance/listening.ts'
import { prepareToPublish, publishContext, publishedPath } from '../instance/published-context.ts'
import { chosenRuntime, requireRuntime, socketArgument } from '../instance/runtime-choice.ts'
import { startDetached } from '../instance/start-detached.ts'
import { colours, facts, progress, say, shortPath, success } from '../printing/say.ts'
import type { ServerSettings } from '../server-process.ts'

interface UpOptions {
  detach?: boolean
  demo?: boolean
  name?: string
  dataDir?: string
  store?: string
  etcdCa?: string
  etcdCert?: string
  etcdKey?: string
  auditPolicy?: string
  auditLog?: string
  encryptionConfig?: string
  authenticationConfig?: string
  featureGates?: FeatureGate[]
  apiPort?: number
  kubeconfig?: string
  nodes?: number
  runtime?: NodeRuntime
  containerRuntimeEndpoint?: string
  proxyMode?: string
  network?: string
  listen?: string
  nodeName?: string
  seccompDefault?: boolean
  podMaxPids?: number
}

const DEFAULT_PORT = 6443
const PROXY_MODES = ['nftables', 'iptables', 'userspace']
const NETWORKS = ['host-gw', 'vxlan']
const START_PATIENCE = 30_000

export function upCommand(serverEntry: string): Command {
  const command = new Command('up')
    .description('Start a cluster, or find the one that runs.')
    .option('-d, --detach', 'run in the background and return when the API answers')
    .option('--demo', 'with three pods behind a Service, to look at')
    .option('--name <name>', 'which cluster; several can run side by side (default: default)')
    .option('--data-dir <dir>', 'where its state lives')
    .option('--store <store>', 'embedded, memory, or etcd://host:port,... (default: embedded)', storeArgument)
    .option('--etcd-ca <file>', 'PEM of the authorities to trust for etcds://')
    .option('--etcd-cert <file>', 'PEM of the client certificate for etcds://')
    .option('--etcd-key <file>', 'PEM of its key')
    .option('--audit-policy <file>', 'Policy of audit.k8s.io/v1: which requests are written down')
    .option('--audit-log <file>', 'where to, - for standard output (default: audit.log among its state)')
    .option('--encryption-config <file>', 'EncryptionConfiguration: what is encrypted in the store, and how')
    .option('--authentication-config <file>', 'AuthenticationConfiguration: issuers whose tokens are believed')
    .option(
      '--feature-gates <gates>',
      `what v1.36 leaves off: ${FEATURE_GATES.join(', ')} (=true, by commas)`,
      gatesArgument,
    )
    .option('--api-port <port>', `port of the API server, 0 for any free one (default: ${DEFAULT_PORT})`, portArgument)
    .option('--kubeconfig <file>', 'kubeconfig to add the context to (default: $KUBECONFIG or ~/.kube/config)')
    .option('--nodes <n>', 'worker nodes (default: 1, or 0 where no pods can run)', nodesArgument)
    .addOption(
      new Option('--runtime <runtime>', 'what runs pods; simulated ones only seem to run').choices([
        'builtin',
        'containerd',
        'simulated',
      ]),
    )
    .option('--container-runtime-endpoint <socket>', 'unix:///… of a CRI v1 runtime to run pods with', socketArgument)
    .addOption(new Option('--proxy-mode <mode>', 'how Services are reached (default: nftables)').choices(PROXY_MODES))
    .addOption(
      new Option(
        '--network <network>',
        'between pods of different nodes (default: host-gw, with --listen vxlan)',
      ).choices(NETWORKS),
    )
    .option('--listen <address>', 'let other machines reach the API and join: an address of this one, or 0.0.0.0')
    .option('--node-name <name>', 'with --listen: the name of the node that this machine is (default: its hostname)')
  return withKubeletFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ sampan up                                   in the foreground, Ctrl-C stops it
  $ sampan up --demo                            with three pods behind a Service
  $ sampan up --detach                          in the background, "sampan down" stops it
  $ sampan up -d --name test --api-port 0       a second cluster on any free port
  $ sampan up --nodes 3                         three nodes, each in a network of its own
  $ sampan up -d --listen 192.168.1.10          other machines may join: see "sampan token create --help"
  $ sampan up --runtime containerd              pods run by a containerd of the cluster's own
  $ sampan up --nodes 1000 --runtime simulated  with nodes on which pods only seem to run
  $ sampan up --store memory                    nothing is written to disk but certificates
  $ sampan up --store etcd://10.0.0.1:2379      the state lives in etcd (etcds:// for TLS)`,
    )
    .action((options: UpOptions) => up(options, serverEntry))
}

async function up(options: UpOptions, serverEntry: string): Promise<void> {
  const instance = instanceOf(options)
  const running = await findServer(instance)
  if (running?.joinedAs || existsSync(join(instance.dataDir, 'join.json')))
    throw new CliError(`${shortPath(instance.dataDir)} belongs to a node of another cluster`, [
      `Start that node: sampan join${flagsOf(instance)}`,
      'Or give the cluster another place: sampan up --name other',
    ])
  if (running) return alreadyUp(instance, running, options)
  const saved = await readSettings(instance)
  const settings: ServerSettings = {
    instance,
    store: options.store ?? saved.store ?? 'embedded',
    ...etcdFiles(options, saved),
    ...securityFiles(options, saved),
    featureGates: options.featureGates ?? saved.featureGates ?? [],
    apiPort: options.apiPort ?? saved.apiPort ?? DEFAULT_PORT,
    kubeconfig: publishedPath(options.kubeconfig),
    ...withMachines(nodesOf(options, saved), options, saved),
    ...kubeletChoices(options, saved),
  }
  try {
    await (options.detach ? background(settings, serverEntry, options) : foreground(settings, serverEntry, options))
  } catch (error) {
    // Two starts at the same time: the one that came second finds the first.
    const other = await findServer(instance)
    if (!other) throw error
    await alreadyUp(instance, other, options)
  }
}

/** The detached process runs elsewhere, so names of files become absolute. */
function etcdFiles({ etcdCa, etcdCert, etcdKey }: UpOptions, saved: Settings): Pick<Settings, 'etcd'> {
  const files = {
    ...(etcdCa !== undefined && { ca: resolve(etcdCa) }),
    ...(etcdCert !== undefined && { cert: resolve(etcdCert) }),
    ...(etcdKey !== undefined && { key: resolve(etcdKey) }),
  }
  if (Object.keys(files).length > 0) return { etcd: files }
  return saved.etcd ? { etcd: saved.etcd } : {}
}

/** A cluster that was encrypted or audited goes on being so. */
function securityFiles(
  { auditPolicy, auditLog, encryptionConfig, authenticationConfig }: UpOptions,
  saved: Settings,
): Pick<Settings, 'files'> {
  if (auditLog !== undefined && (auditPolicy ?? saved.files?.auditPolicy) === undefined)
    throw new CliError('an audit log needs a policy', ['Say which requests to write down: --audit-policy <file>'])
  const files = {
    ...saved.files,
    ...(auditPolicy !== undefined && { auditPolicy: resolve(auditPolicy) }),
    ...(auditLog !== undefined && { auditLog: auditLog === '-' ? '-' : resolve(auditLog) }),
    ...(encryptionConfig !== undefined && { encryption: resolve(encryptionConfig) }),
    ...(authenticationConfig !== undefined && { authentication: resolve(authenticationConfig) }),
  }
  return Object.keys(files).length > 0 ? { files } : {}
}

async function background(settings: ServerSettings, serverEntry: string, options: UpOptions): Promise<void> {
  const waiting = progress('starting the cluster')
  const starting = startDetached(settings, serverEntry).finally(() => waiting.stop())
  const [server] = await Promise.all([starting, prepareToPublish()])
  await publishContext(settings.instance, settings.kubeconfig!)
  announce(settings, server)
  if (options.demo) await demo(settings)
  const flags = flagsOf(settings.instance)
  say(`  sampan logs -f${flags}\n  sampan down${flags}`)
}

async function foreground(settings: ServerSettings, serverEntry: string, options: UpOptions): Promise<void> {
  const waiting = progress('starting the cluster')
  const { explain, openServerLog, serve, stopRequested } = await import('../foreground-server.ts')
  const log = await openServerLog(settings.instance)
  const serving = await serve(settings, log, serverEntry)
    .catch((error: unknown) => {
      throw explain(error, settings)
    })
    .finally(() => waiting.stop())
  const stop = stopRequested()
  try {
    await publishContext(settings.instance, settings.kubeconfig!)
    announce(settings, serving.server)
    if (options.demo) await Promise.race([demo(settings), stop])
    say(`\n${colours.dim('Ctrl-C stops the cluster.')}`)
    await Promise.race([stop, ...(serving.ended ? [serving.ended] : [])])
    say(`\nStopping …`)
  } finally {
    await serving[Symbol.asyncDispose]()
  }
  success(
    settings.store === 'memory' ? 'Stopped; its state was in memory.' : 'Stopped; "sampan up" continues from here.',
  )
}

async function demo({ instance, runtime }: Pick<ServerSettings, 'instance' | 'runtime'>): Promise<void> {
  const { runDemo } = await import('../demo.ts')
  await runDemo({ name: instance.name, dataDir: instance.dataDir }, runtime === 'simulated')
}

function announce({ instance, store, kubeconfig, listen }: ServerSettings, server: RunningServer): void {
  // From the start of this process, so that loading the program counts too.
  success(`Kubernetes is up in ${Math.round(systemClock.now() - performance.timeOrigin)} ms`)
  say()
  describeServer(instance, server, store, kubeconfig!)
  say(`\n${colours.bold('Try')}\n  kubectl get namespaces\n  sampan get all -A${flagsOf(instance)}`)
  if (listen) say(`  sampan token create --print-join-command${flagsOf(instance)}   for another machine to join`)
}

function describeServer(instance: Instance, server: RunningServer, store: string, kubeconfig: string): void {
  facts([
    ['API server', server.url],
    ['Store', store === 'embedded' ? `embedded, in ${shortPath(instance.dataDir)}` : store],
    [
      'Runs',
      server.nodes
        ? `the control plane and ${nodesText(server.nodes, server.runtime)}`
        : 'the control plane; no nodes, so pods stay Pending',
    ],
    ['Context', `${instance.context}, current in ${shortPath(kubeconfig)}`],
  ])
}

async function alreadyUp(instance: Instance, found: RunningServer, options: UpOptions): Promise<void> {
  const running = await whenServing(instance, found)
  const port = Number(new URL(running.url).port)
  if (options.store !== undefined && options.store !== running.store) {
    throw different(instance, `with --store ${running.store}`)
  }
  if (options.apiPort && options.apiPort !== port) throw different(instance, `on port ${port}`)
  const kubeconfig = publishedPath(options.kubeconfig ?? running.kubeconfig)
  await publishContext(instance, kubeconfig)
  success(`Kubernetes is already up (process ${running.pid})`)
  say()
  describeServer(instance, running, running.store, kubeconfig)
  if (options.demo) await demo({ instance, ...(await readSettings(instance)) })
}

/** A server that is being started by someone else is waited for. */
async function whenServing(instance: Instance, found: RunningServer): Promise<RunningServer> {
  let server: RunningServer | undefined = found
  for (const end = systemClock.now() + START_PATIENCE; server && systemClock.now() < end; ) {
    if (server.url !== '') return server
    await systemClock.sleep(20)
    server = await findServer(instance)
  }
  throw new CliError(`cluster ${instance.name} was being started by process ${found.pid}, and did not come up`)
}

function different(instance: Instance, how: string): CliError {
  return new CliError(`cluster ${instance.name} runs already, ${how}`, [
    `Stop it first: sampan down${flagsOf(instance)}`,
    'Or start another beside it: sampan up --name other --api-port 0',
  ])
}

function storeArgument(text: string): string {
  try {
    parseStoreChoice(text)
    return text
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

function portArgument(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535) throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return port
}

function nodesArgument(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('How many nodes? A number from 0 on.')
  return Number(text)
}

function gatesArgument(text: string): FeatureGate[] {
  try {
    return parseFeatureGates(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

/** As asked for, as last time, or one real node where that is possible. */
function nodesOf(
  options: UpOptions,
  saved: Settings,
): Pick<ServerSettings, 'nodes' | 'nodesOptional' | 'runtime' | 'runtimeEndpoint' | 'proxyMode' | 'network'> {
  const why = whyNoRealNodes()
  const chosen = chosenRuntime(options)
  const runtime = chosen ?? saved.runtime ?? (why === undefined ? 'builtin' : 'simulated')
  const asked = options.nodes ?? (chosen === undefined ? saved.nodes : (saved.nodes ?? 1))
  if (asked && runtime !== 'simulated' && why !== undefined) throw why
  if (asked && chosen === undefined && saved.runtime === undefined && why !== undefined) throw why
  requireRuntime(runtime)
  const proxyMode = options.proxyMode ?? saved.proxyMode
  const network = options.network ?? saved.network
  return {
    nodes: asked ?? (why === undefined ? 1 : 0),
    ...(asked === undefined && { nodesOptional: true }),
    runtime,
    ...(runtime === 'cri' && { runtimeEndpoint: options.containerRuntimeEndpoint ?? saved.runtimeEndpoint ?? '' }),
    ...(proxyMode !== undefined && { proxyMode }),
    ...(network !== undefined && { network }),
  }
}

/** Undefined where real pods can run. */
function whyNoRealNodes(): CliError | undefined {
  const simulated = 'For pods that only seem to run: sampan up --nodes 1 --runtime simulated'
  if (process.platform !== 'linux') {
    return new CliError(`real pods need Linux, this is ${process.platform}`, [simulated])
  }
  return undefined
}

const nodesText = (nodes: number, runtime: NodeRuntime = 'simulated') => {
  const kind = runtime === 'simulated' ? 'simulated node' : 'node'
  return nodes === 1 ? `a ${kind}` : `${nodes} ${kind}s`
}
