import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join as joinPath } from 'node:path'
import { Command, Option } from 'commander'
import { type BootstrapToken, parseBootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { systemClock } from '../../base/clock.ts'
import { parseIP } from '../../base/ip-address.ts'
import type { JoinOptions, Membership } from '../../cluster/join-node.ts'
import { kubeletChoices } from '../../cluster/node-settings.ts'
import { CliError } from '../cli-error.ts'
import { findServer, flagsOf, type Instance, instanceOf } from '../instance/instance.ts'
import { withKubeletFlags } from '../instance/kubelet-flags.ts'
import { nodeNameOf } from '../instance/listening.ts'
import { chosenRuntime, requireRuntime, socketArgument } from '../instance/runtime-choice.ts'
import { startDetached } from '../instance/start-detached.ts'
import { colours, facts, note, progress, say, shortPath, success } from '../printing/say.ts'
import type { ServerSettings } from '../server-process.ts'

interface JoinCommandOptions {
  detach?: boolean
  token?: string
  discoveryTokenCaCertHash?: string[]
  discoveryTokenUnsafeSkipCaVerification?: boolean
  nodeName?: string
  nodeIp?: string
  proxyMode?: string
  runtime?: 'builtin' | 'containerd'
  containerRuntimeEndpoint?: string
  name?: string
  dataDir?: string
  seccompDefault?: boolean
  podMaxPids?: number
}

const PROXY_MODES = ['nftables', 'iptables', 'userspace']
const READY_PATIENCE = 60_000
const HASH = /^sha256:[0-9a-f]{64}$/

export function joinCommand(serverEntry: string): Command {
  const command = new Command('join')
    .description('Make this machine a node of a cluster on another one; later, start that node again.')
    .argument('[server]', 'where the API server is, as https://192.168.1.10:6443; not needed again')
    .option('-d, --detach', 'run in the background and return when the node is ready')
    .option('--token <token>', 'what "sampan token create" printed; not needed again')
    .option('--discovery-token-ca-cert-hash <hash...>', 'the public key to expect of the cluster, as sha256:...')
    .option('--discovery-token-unsafe-skip-ca-verification', 'believe whoever knows the token')
    .option('--node-name <name>', 'the name of the node (default: the hostname)')
    .option('--node-ip <address>', 'by which other nodes reach this one (default: the address towards the server)')
    .addOption(
      new Option('--proxy-mode <mode>', "how Services are reached (default: the cluster's)").choices(PROXY_MODES),
    )
    .addOption(
      new Option('--runtime <runtime>', 'what runs pods (default: builtin)').choices(['builtin', 'containerd']),
    )
    .option('--container-runtime-endpoint <socket>', 'unix:///… of a CRI v1 runtime to run pods with', socketArgument)
    .option('--name <name>', 'what to call it on this machine, beside others (default: default)')
    .option('--data-dir <dir>', 'where its state lives')
  return withKubeletFlags(command)
    .addHelpText(
      'after',
      `
"sampan token create --print-join-command" on the first machine prints the whole command.

Examples:
  $ sampan join https://192.168.1.10:6443 --token abcdef.0123456789abcdef \\
      --discovery-token-ca-cert-hash sha256:1234...      become a node
  $ sampan join --detach                                  start the node again, after "sampan down" or a reboot
  $ sampan down                                           stop the node; --delete forgets the cluster too`,
    )
    .action((server: string | undefined, options: JoinCommandOptions) => join(server, options, serverEntry))
}

async function join(server: string | undefined, options: JoinCommandOptions, serverEntry: string): Promise<void> {
  const instance = instanceOf(options)
  assertPossible()
  const running = await findServer(instance)
  if (running?.joinedAs) {
    success(`This machine is node ${running.joinedAs} of ${running.url} already (process ${running.pid})`)
    return
  }
  if (running || existsSync(joinPath(instance.dataDir, 'store')))
    throw new CliError(`${shortPath(instance.dataDir)} holds a cluster of this machine`, [
      'Give the node another place: sampan join --name other ...',
      'A machine that runs a cluster with --listen is a node of that one.',
    ])
  const membership = await membershipOf(instance, server, options)
  const settings: ServerSettings = { instance, store: '', apiPort: 0, membership }
  await (options.detach ? background(settings, serverEntry) : foreground(settings, serverEntry))
}

function assertPossible(): void {
  if (process.platform !== 'linux') throw new CliError(`a node needs Linux, this is ${process.platform}`)
  if (process.getuid?.() !== 0) throw new CliError('a machine becomes a node as root', ['Run it with sudo.'])
}

/** That of the last time, or a new one, with a token. */
async function membershipOf(
  instance: Instance,
  server: string | undefined,
  options: JoinCommandOptions,
): Promise<Membership> {
  const { isStillMember, readMembership } = await import('../../cluster/join-node.ts')
  const known = await readMembership(instance.dataDir)
  if (known && isOther(known, server, options))
    throw new CliError(`this machine is node ${known.node.name} of ${known.server}`, [
      `To leave that cluster: sampan down --delete${flagsOf(instance)}`,
    ])
  const chosen = chosenOf(options)
  if (known && (await isStillMember(known, systemClock.now())))
    return { ...known, chosen: { ...known.chosen, ...chosen } }
  if (known && options.token === undefined)
    throw new CliError(`the certificate of node ${known.node.name} has expired`, [
      'Join again with a token: "sampan token create --print-join-command" on the first machine prints how.',
    ])
  const asked = {
    ...whereTo(server ?? known?.server, options),
    nodeName: nodeNameOf(options.nodeName ?? known?.node.name),
    chosen: { ...known?.chosen, ...chosen },
  }
  return becomeMember(instance, asked)
}

const isOther = (known: Membership, server: string | undefined, { nodeName }: JoinCommandOptions) =>
  (server !== undefined && serverUrl(server).origin !== known.server) ||
  (nodeName !== undefined && nodeName !== known.node.name)

/** What the user wants otherwise than the cluster, or the machine, would have it. */
function chosenOf(options: JoinCommandOptions): Membership['chosen'] {
  const { nodeIp, proxyMode, containerRuntimeEndpoint } = options
  const runtime = chosenRuntime(options)
  if (runtime) requireRuntime(runtime)
  return {
    ...(nodeIp !== undefined && { address: addressOf(nodeIp) }),
    ...(proxyMode !== undefined && { proxyMode }),
    ...kubeletChoices(options),
    ...(runtime !== undefined && { runtime: containerRuntimeEndpoint ?? runtime }),
  }
}

async function becomeMember(
  { dataDir }: Instance,
  asked: Omit<JoinOptions, 'dataDir' | 'linux' | 'clock'>,
): Promise<Membership> {
  const [{ joinCluster }, { kernelLinux }] = await Promise.all([
    import('../../cluster/join-node.ts'),
    import('../../linux/kernel-linux.ts'),
  ])
  const isNew = !existsSync(dataDir)
  const waiting = progress('joining the cluster')
  try {
    return await joinCluster({ ...asked, dataDir, linux: kernelLinux(), clock: systemClock })
  } catch (error) {
    if (isNew) await rm(dataDir, { recursive: true, force: true })
    throw await explained(error)
  } finally {
    waiting.stop()
  }
}

async function explained(error: unknown): Promise<unknown> {
  const { JoinError } = await import('../../cluster/join-error.ts')
  return error instanceof JoinError ? new CliError(error.message, error.hints) : error
}

/** Whom to join, and by what to know them. */
function whereTo(
  server: string | undefined,
  options: JoinCommandOptions,
): { server: URL; token: BootstrapToken; caCertHashes: readonly string[] } {
  const how = '"sampan token create --print-join-command" on the first machine prints the whole command.'
  if (server === undefined) throw new CliError('join which cluster?', [how], 2)
  if (options.token === undefined) throw new CliError('a machine joins with a token: --token', [how], 2)
  const token = parseBootstrapToken(options.token)
  if (!token) throw new CliError(`a token looks like abcdef.0123456789abcdef, this does not`, [how], 2)
  const caCertHashes = options.discoveryTokenCaCertHash ?? []
  const wrong = caCertHashes.find((hash) => !HASH.test(hash))
  if (wrong !== undefined) throw new CliError(`${wrong} is no hash: sha256: and 64 hex digits`, [how], 2)
  if (caCertHashes.length === 0 && !options.discoveryTokenUnsafeSkipCaVerification)
    throw new CliError(
      'which cluster is the right one? --discovery-token-ca-cert-hash',
      [how, 'To believe whoever knows the token: --discovery-token-unsafe-skip-ca-verification'],
      2,
    )
  return { server: serverUrl(server), token, caCertHashes }
}

/** `192.168.1.10`, `host:6443` and URLs. */
function serverUrl(text: string): URL {
  try {
    const url = new URL(/^[a-z]+:\/\//.test(text) ? text : `https://${text}`)
    if (url.protocol !== 'https:' || url.pathname !== '/') throw new Error('not an address')
    if (url.port === '' && !/:443\/?$/.test(text)) url.port = '6443'
    return url
  } catch {
    throw new CliError(`${text} is no address of an API server`, ['It looks like https://192.168.1.10:6443.'], 2)
  }
}

function addressOf(text: string): string {
  if (!parseIP(text)) throw new CliError(`${text} is no IP address`, [], 2)
  return text
}

async function background(settings: ServerSettings, serverEntry: string): Promise<void> {
  const waiting = progress('starting the node')
  const server = await startDetached(settings, serverEntry).finally(() => waiting.stop())
  await announce(settings, server.pid)
  say(`  sampan down${flagsOf(settings.instance)}`)
}

async function foreground(settings: ServerSettings, serverEntry: string): Promise<void> {
  const { explain, openServerLog, serve, stopRequested } = await import('../foreground-server.ts')
  const log = await openServerLog(settings.instance)
  const serving = await serve(settings, log, serverEntry).catch((error: unknown) => {
    throw explain(error, settings)
  })
  const stop = stopRequested()
  try {
    await Promise.race([announce(settings, process.pid), stop])
    say(`\n${colours.dim('Ctrl-C stops the node and its pods.')}`)
    await stop
    say('\nStopping …')
  } finally {
    await serving[Symbol.asyncDispose]()
  }
  success('Stopped; "sampan join" continues from here.')
}

/** When the cluster says that the node is ready, or after a while that it does not. */
async function announce({ instance, membership }: ServerSettings, pid: number): Promise<void> {
  const { whenReady } = await import('../../cluster/joined-node.ts')
  const { name, address, dataDir } = membership!.node
  const waiting = progress('waiting for the node to become ready')
  const isReady = await whenReady(membership!, systemClock, AbortSignal.timeout(READY_PATIENCE)).then(
    () => true,
    () => false,
  )
  waiting.stop()
  if (isReady) success(`This machine is node ${name} of ${membership!.server}`)
  else note(`Node ${name} runs, but is not ready after a minute. Its log: ${joinPath(dataDir, 'node.log')}`)
  facts([
    ['Address', address],
    ['Data', shortPath(instance.dataDir)],
    ['Process', String(pid)],
  ])
}
