import { Command } from 'commander'
import { type BootstrapToken, parseBootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { type JoinResult, join } from '../../cluster/cluster-join.ts'
import { flagsOf, type Instance, instanceOf } from '../../cluster/instance.ts'
import { UserError } from '../../cluster/user-error.ts'
import type { ClusterFlags } from '../cluster-flags.ts'
import { addConfigurationFlags, configurationFrom } from '../configuration-flags.ts'
import { colours, facts, note, type Progress, progress, say, shortPath, success } from '../printing/say.ts'

interface JoinFlags extends ClusterFlags {
  readonly detach?: boolean
  readonly token?: string
  readonly discoveryTokenCaCertHash?: string[]
  readonly discoveryTokenUnsafeSkipCaVerification?: boolean
}

const HASH = /^sha256:[0-9a-f]{64}$/
const HOW = '"sampan token create --print-join-command" on the first machine prints the whole command.'

const EXAMPLES = `
${HOW}

Examples:
  $ sampan join https://192.168.1.10:6443 --token abcdef.0123456789abcdef \\
      --discovery-token-ca-cert-hash sha256:1234...      become a node
  $ sampan join --detach                                  start the node again, after "sampan down" or a reboot
  $ sampan down                                           stop the node; --delete forgets the cluster too`

export function joinCommand(serverEntry: string): Command {
  const command = new Command('join')
    .description('Make this machine a node of a cluster on another one; later, start that node again.')
    .argument('[server]', 'where the API server is, as https://192.168.1.10:6443; not needed again')
    .option('-d, --detach', 'run in the background and return when the node is ready')
    .option('--token <token>', 'what "sampan token create" printed; not needed again')
    .option('--discovery-token-ca-cert-hash <hash...>', 'the public key to expect of the cluster, as sha256:...')
    .option('--discovery-token-unsafe-skip-ca-verification', 'trust every server that knows the token')
    .option('--name <name>', 'what to call it on this machine, beside others (default: default)')
    .option('--data-dir <dir>', 'where to keep its state')
  return addConfigurationFlags(command, 'join')
    .addHelpText('after', EXAMPLES)
    .action((server: string | undefined, flags: JoinFlags) => runJoin(server, flags, serverEntry))
}

async function runJoin(server: string | undefined, flags: JoinFlags, serverEntry: string): Promise<void> {
  const instance = instanceOf(flags)
  let waiting: Progress | undefined
  const result = await join({
    instance,
    ...(server !== undefined && { server: serverUrl(server) }),
    ...(flags.token !== undefined && { token: tokenOf(flags.token) }),
    caCertHashes: hashesOf(flags),
    skipCaVerification: flags.discoveryTokenUnsafeSkipCaVerification ?? false,
    configuration: configurationFrom({ ...flags }),
    detach: flags.detach ?? false,
    serverEntry,
    onStep(step) {
      waiting?.stop()
      waiting = progress(step)
    },
  }).finally(() => waiting?.stop())
  if (result.wasRunning) {
    success(`This machine is node ${result.name} of ${result.server} already (process ${result.pid})`)
    return
  }
  if (result.foreground) return runForeground(instance, result, result.foreground)
  announce(instance, result)
  say(`  sampan down${flagsOf(instance)}`)
}

async function runForeground(
  instance: Instance,
  result: JoinResult,
  foreground: NonNullable<JoinResult['foreground']>,
): Promise<void> {
  try {
    if (result.isReady !== undefined) announce(instance, result)
    say(`\n${colours.dim('Ctrl-C stops the node and its pods.')}`)
    await foreground.stopRequested
    say('\nStopping …')
  } finally {
    await foreground[Symbol.asyncDispose]()
  }
  success('Stopped; "sampan join" continues from here.')
}

function announce(instance: Instance, { name, server, address = '', pid, isReady, logFile }: JoinResult): void {
  if (isReady) success(`This machine is node ${name} of ${server}`)
  else note(`Node ${name} runs, but is not ready after a minute. Its log: ${logFile}`)
  facts([
    ['Address', address],
    ['Data', shortPath(instance.dataDir)],
    ['Process', String(pid)],
  ])
}

const wrongUsage = (message: string, hint: string) => new UserError(message, [hint], { exitCode: 2 })

function tokenOf(text: string): BootstrapToken {
  const token = parseBootstrapToken(text)
  if (token) return token
  throw wrongUsage('a token looks like abcdef.0123456789abcdef, this does not', HOW)
}

function hashesOf({ discoveryTokenCaCertHash: hashes = [] }: JoinFlags): readonly string[] {
  const wrong = hashes.find((hash) => !HASH.test(hash))
  if (wrong === undefined) return hashes
  throw wrongUsage(`${wrong} is not a hash: sha256: and 64 hex digits`, HOW)
}

/** Reads `192.168.1.10`, `host:6443` and URLs. */
function serverUrl(text: string): URL {
  try {
    const url = new URL(/^[a-z]+:\/\//.test(text) ? text : `https://${text}`)
    if (url.protocol !== 'https:' || url.pathname !== '/') throw new Error('not an address')
    if (url.port === '' && !/:443\/?$/.test(text)) url.port = '6443'
    return url
  } catch {
    throw wrongUsage(`${text} is not an address of an API server`, 'It looks like https://192.168.1.10:6443.')
  }
}
