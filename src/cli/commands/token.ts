import { randomInt } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import {
  BOOTSTRAP_TOKEN_NAMESPACE,
  BOOTSTRAP_TOKEN_TYPE,
  BOOTSTRAP_TOKEN_USAGES,
  type BootstrapTokenFacts,
  bootstrapTokenName,
  bootstrapTokenSecret,
  isBootstrapTokenId,
  parseBootstrapToken,
  readBootstrapToken,
} from '../../api/kinds/core/bootstrap-token.ts'
import { CLUSTER_INFO, CLUSTER_INFO_KUBECONFIG } from '../../api/kinds/core/cluster-info.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { formatTime, humanDuration } from '../../api/meta/time.ts'
import { systemClock } from '../../base/clock.ts'
import { parseDuration } from '../../base/duration.ts'
import type { Client } from '../../client/client.ts'
import { parseKubeconfig } from '../../client/kubeconfig.ts'
import { CliError } from '../cli-error.ts'
import { say } from '../printing/say.ts'
import { formatRows } from '../printing/table.ts'
import { type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'

interface CreateOptions extends ConnectOptions {
  ttl: number
  usages: readonly string[]
  groups: readonly string[]
  description?: string
  printJoinCommand?: boolean
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const DAY = 24 * 3_600_000

export function tokenCommand(): Command {
  const token = new Command('token').description('Tokens by which other machines join a cluster.')
  token.addCommand(createTokenCommand())
  token.addCommand(
    connectOptions(new Command('list').description('List the tokens of a cluster.')).action((options: ConnectOptions) =>
      withApi(options, ({ client }) => list(client)),
    ),
  )
  token.addCommand(
    connectOptions(
      new Command('delete')
        .description('Delete tokens: nobody joins with them any more. Nodes that joined stay.')
        .argument('<token...>', 'whole tokens, or their part before the dot'),
    ).action((tokens: string[], options: ConnectOptions) => withApi(options, ({ client }) => remove(client, tokens))),
  )
  return token
}

function createTokenCommand(): Command {
  const command = new Command('create')
    .description('Make a token that lets machines join a cluster that was started with --listen.')
    .argument('[token]', 'the token, as abcdef.0123456789abcdef (default: a random one)')
    .option('--ttl <duration>', 'how long it lives, as 2h or 30m, 0 for ever (default: 24h)', durationArgument, DAY)
    .option('--usages <list>', 'signing, authentication', usagesArgument, BOOTSTRAP_TOKEN_USAGES)
    .option('--groups <list>', 'further groups of who uses it, system:bootstrappers:...', groupsArgument, [])
    .option('--description <text>', 'what it is for')
    .option('--print-join-command', 'print the command to type on the other machine instead of the token alone')
    .addHelpText(
      'after',
      `
Examples:
  $ sampan token create --print-join-command      what to type on the other machine
  $ sampan token create --ttl 1h                  a token for an hour instead of a day`,
    )
  return connectOptions(command).action((token: string | undefined, options: CreateOptions) =>
    withApi(options, ({ client }) => create(client, token, options)),
  )
}

async function create(client: Client, text: string | undefined, options: CreateOptions): Promise<void> {
  const token = parseBootstrapToken(text ?? `${letters(6)}.${letters(16)}`)
  if (!token) throw new CliError('a token looks like abcdef.0123456789abcdef', [], 2)
  const joinCommand = options.printJoinCommand ? await joinCommandOf(client) : undefined
  const { ttl, usages, groups, description = '' } = options
  const expiration = ttl > 0 && { expiration: formatTime(systemClock.now() + ttl) }
  try {
    await client
      .resource(secretKind)
      .create(bootstrapTokenSecret({ ...token, description, usages, groups, ...expiration }))
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 409)) throw error
    throw new CliError(`there is a token ${token.id} already`, [`Delete it first: sampan token delete ${token.id}`])
  }
  const whole = `${token.id}.${token.secret}`
  say(joinCommand ? joinCommand(whole) : whole)
}

/** From what the cluster tells everybody. */
async function joinCommandOf(client: Client): Promise<(token: string) => string> {
  const { namespace, name } = CLUSTER_INFO
  const info = await client
    .resource(configMapKind)
    .namespace(namespace)
    .get(name)
    .catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 404)) throw error
      throw new CliError('only this machine reaches the cluster', [
        'Start it for others: sampan down, then sampan up --detach --listen ADDRESS',
      ])
    })
  const config = await parseKubeconfig(info.data?.[CLUSTER_INFO_KUBECONFIG] ?? '', name)
  const { server, 'certificate-authority-data': ca = '' } = config.clusters?.[0]?.cluster ?? {}
  const { caCertHash } = await import('../../cluster/join-node.ts')
  const hash = caCertHash(Buffer.from(ca, 'base64').toString())
  return (token) => `sampan join ${server} --token ${token} --discovery-token-ca-cert-hash ${hash}`
}

async function list(client: Client): Promise<void> {
  const secrets = client.resource(secretKind).namespace(BOOTSTRAP_TOKEN_NAMESPACE)
  const { items } = await secrets.list({ fieldSelector: `type=${BOOTSTRAP_TOKEN_TYPE}` })
  const tokens = items.flatMap((secret) => readBootstrapToken(secret) ?? [])
  if (tokens.length === 0) return say('No tokens. Make one: sampan token create --print-join-command')
  const columns = ['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS']
  say(formatRows([columns, ...tokens.map(rowOf)]).join('\n'))
}

function rowOf({ id, secret, expiration, usages, description, groups }: BootstrapTokenFacts): string[] {
  const left = expiration === undefined ? undefined : expiration - systemClock.now()
  const or = (text: string) => text || '<none>'
  return [
    `${id}.${secret}`,
    left === undefined ? '<forever>' : left > 0 ? humanDuration(left) : '<invalid>',
    expiration === undefined ? '<never>' : formatTime(expiration),
    or(usages.join(',')),
    or(description),
    or(groups.join(',')),
  ]
}

async function remove(client: Client, tokens: readonly string[]): Promise<void> {
  const ids = tokens.map((text) => parseBootstrapToken(text)?.id ?? text)
  const wrong = ids.find((id) => !isBootstrapTokenId(id))
  if (wrong !== undefined) throw new CliError(`${wrong} is neither a token nor its part before the dot`, [], 2)
  for (const id of ids) {
    try {
      await client.resource(secretKind).namespace(BOOTSTRAP_TOKEN_NAMESPACE).delete(bootstrapTokenName(id))
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error
      throw new CliError(`there is no token ${id}`, ['See them all: sampan token list'])
    }
    say(`token ${id} deleted`)
  }
}

const letters = (count: number) => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('')

function durationArgument(text: string): number {
  const duration = text === '0' ? 0 : parseDuration(text)
  if (duration === undefined || duration < 0) throw new InvalidArgumentError('A duration looks like 24h, 30m or 0.')
  return duration
}

const listed = (text: string) => text.split(',').filter((part) => part !== '')

function usagesArgument(text: string): readonly string[] {
  const usages = listed(text)
  if (usages.length === 0 || !usages.every((usage) => (BOOTSTRAP_TOKEN_USAGES as readonly string[]).includes(usage)))
    throw new InvalidArgumentError(`Some of ${BOOTSTRAP_TOKEN_USAGES.join(', ')}.`)
  return usages
}

function groupsArgument(text: string): readonly string[] {
  const groups = listed(text)
  if (!groups.every((group) => GROUP.test(group)))
    throw new InvalidArgumentError('A group of joining machines begins with system:bootstrappers:')
  return groups
}
