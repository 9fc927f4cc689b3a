/** Bootstrap tokens: what machines join a cluster with. */
import { randomInt } from 'node:crypto'
import {
  BOOTSTRAP_TOKEN_NAMESPACE,
  BOOTSTRAP_TOKEN_TYPE,
  type BootstrapTokenFacts,
  bootstrapTokenName,
  bootstrapTokenSecret,
  isBootstrapTokenId,
  parseBootstrapToken,
  readBootstrapToken,
} from '../api/kinds/core/bootstrap-token.ts'
import { CLUSTER_INFO, CLUSTER_INFO_KUBECONFIG } from '../api/kinds/core/cluster-info.ts'
import { configMapKind } from '../api/kinds/core/config-map.ts'
import { secretKind } from '../api/kinds/core/secret.ts'
import { ApiError } from '../api/meta/api-error.ts'
import { formatTime, humanDuration } from '../api/meta/time.ts'
import { systemClock } from '../base/clock.ts'
import type { Client } from '../client/client.ts'
import { parseKubeconfig } from '../client/kubeconfig.ts'
import { UserError } from '../cluster/user-error.ts'
import { publicKeyHash } from '../x509/public-key-hash.ts'
import { say } from './printing/say.ts'
import { formatRows } from './printing/table.ts'

export interface NewToken {
  /** Milliseconds; 0 for ever. */
  readonly ttl: number
  readonly usages: readonly string[]
  readonly groups: readonly string[]
  readonly description?: string
  readonly printJoinCommand?: boolean
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

export async function createToken(client: Client, text: string | undefined, options: NewToken): Promise<void> {
  const token = parseBootstrapToken(text ?? `${letters(6)}.${letters(16)}`)
  if (!token) throw new UserError('a token looks like abcdef.0123456789abcdef', [], { exitCode: 2 })
  const joinCommand = options.printJoinCommand ? await joinCommandOf(client) : undefined
  const { ttl, usages, groups, description = '' } = options
  const expiration = ttl > 0 && { expiration: formatTime(systemClock.now() + ttl) }
  try {
    await client
      .resource(secretKind)
      .create(bootstrapTokenSecret({ ...token, description, usages, groups, ...expiration }))
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 409)) throw error
    throw new UserError(`there is a token ${token.id} already`, [`Delete it first: sampan token delete ${token.id}`])
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
      throw new UserError('only this machine reaches the cluster', [
        'Start it for others: sampan down, then sampan up --detach --listen ADDRESS',
      ])
    })
  const config = await parseKubeconfig(info.data?.[CLUSTER_INFO_KUBECONFIG] ?? '', name)
  const { server, 'certificate-authority-data': ca = '' } = config.clusters?.[0]?.cluster ?? {}
  const hash = publicKeyHash(Buffer.from(ca, 'base64').toString())
  return (token) => `sampan join ${server} --token ${token} --discovery-token-ca-cert-hash ${hash}`
}

export async function listTokens(client: Client): Promise<void> {
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

export async function deleteTokens(client: Client, tokens: readonly string[]): Promise<void> {
  const ids = tokens.map((text) => parseBootstrapToken(text)?.id ?? text)
  const wrong = ids.find((id) => !isBootstrapTokenId(id))
  if (wrong !== undefined)
    throw new UserError(`${wrong} is neither a token nor its part before the dot`, [], { exitCode: 2 })
  for (const id of ids) {
    try {
      await client.resource(secretKind).namespace(BOOTSTRAP_TOKEN_NAMESPACE).delete(bootstrapTokenName(id))
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error
      throw new UserError(`there is no token ${id}`, ['See them all: sampan token list'])
    }
    say(`token ${id} deleted`)
  }
}

const letters = (count: number) => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('')
