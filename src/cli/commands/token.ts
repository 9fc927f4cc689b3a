import { Command, InvalidArgumentError } from 'commander'
import { BOOTSTRAP_TOKEN_USAGES } from '../../api/kinds/core/bootstrap-token.ts'
import { parseDuration } from '../../base/duration.ts'
import { type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'
import type { NewToken } from '../tokens.ts'

const GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const DAY = 24 * 3_600_000

/** What other commands need not load. */
const actions = () => import('../tokens.ts')

export function tokenCommand(): Command {
  const token = new Command('token').description('Tokens by which other machines join a cluster.')
  token.addCommand(createTokenCommand())
  token.addCommand(
    connectOptions(new Command('list').description('List the tokens of a cluster.')).action((options: ConnectOptions) =>
      withApi(options, async ({ client }) => (await actions()).listTokens(client)),
    ),
  )
  token.addCommand(
    connectOptions(
      new Command('delete')
        .description('Delete tokens: nobody joins with them any more. Nodes that joined stay.')
        .argument('<token...>', 'whole tokens, or their part before the dot'),
    ).action((tokens: string[], options: ConnectOptions) =>
      withApi(options, async ({ client }) => (await actions()).deleteTokens(client, tokens)),
    ),
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
  return connectOptions(command).action((token: string | undefined, options: ConnectOptions & NewToken) =>
    withApi(options, async ({ client }) => (await actions()).createToken(client, token, options)),
  )
}

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
