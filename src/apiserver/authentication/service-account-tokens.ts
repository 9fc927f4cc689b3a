import type { Secret } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { serviceAccountIdentity, serviceAccountUser, type UserInfo } from '../identity.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { type DecodedJwt, decodeJwt, isSignedBy, jwkOf, keyPairOf, signJwt, type TokenKey } from './jwt.ts'
import { LiveReference } from './live-reference.ts'
import { InvalidToken, type TokenAuthenticator, type TokenIdentity } from './token.ts'

export const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local'
/** Tokens in secrets, which never end by themselves, are of an issuer of their own. */
export const LEGACY_ISSUER = 'kubernetes/serviceaccount'

export interface ServiceAccountTokenOptions {
  /** PEM of private keys: the first one signs, all of them are believed, so that keys can be changed without a break. */
  readonly keys: () => Promise<readonly string[]>
  readonly issuer?: string
  /** Whom tokens are for if nobody says; the issuer when absent. */
  readonly audiences?: readonly string[]
}

interface Named {
  readonly name: string
  readonly uid: string
}

/** What a token is to say. */
export interface TokenSubject {
  readonly namespace: string
  readonly account: Named
  readonly pod?: Named
  readonly secret?: Named
  readonly node?: Named
}

/** A token whose signature has been checked; what can change is looked at on each use. */
interface KnownToken {
  readonly user: UserInfo
  readonly audiences: readonly string[]
  readonly expires: number
  readonly notBefore: number
  readonly references: readonly LiveReference[]
}

const MAX_KNOWN = 8192
const CLOCK_SKEW_MS = 60_000
const EXTRA = 'authentication.kubernetes.io'

/** Makes the tokens of service accounts and says whose they are, as long as the account and what it is bound to live. */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly issuer: string
  readonly audiences: readonly string[]
  readonly #readKeys: () => Promise<readonly string[]>
  readonly #feed: CacheFeed
  readonly #clock: Clock
  readonly #random: Random
  readonly #known = new Map<string, KnownToken>()
  #keys: Promise<{ signing: TokenKey; checking: readonly TokenKey[] }> | undefined

  constructor(options: ServiceAccountTokenOptions, feed: CacheFeed, clock: Clock, random: Random) {
    this.issuer = options.issuer ?? DEFAULT_ISSUER
    this.audiences = options.audiences ?? [this.issuer]
    this.#readKeys = options.keys
    this.#feed = feed
    this.#clock = clock
    this.#random = random
  }

  async issue(subject: TokenSubject, audiences: readonly string[], seconds: number): Promise<string> {
    const { namespace, account, pod, secret, node } = subject
    const now = Math.floor(this.#clock.now() / 1000)
    const bound = { ...(node && { node }), ...(pod && { pod }), ...(secret && { secret }) }
    const claims = {
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: this.issuer,
      jti: this.#random.uuid(),
      'kubernetes.io': { namespace, ...bound, serviceaccount: account },
      nbf: now,
      sub: serviceAccountUser(namespace, account.name),
    }
    return signJwt(claims, (await this.#loadKeys()).signing)
  }

  /** A token for a secret of type kubernetes.io/service-account-token: good as long as the secret holds it. */
  async issueLegacy(namespace: string, account: Named, secretName: string): Promise<string> {
    const prefix = LEGACY_ISSUER
    const claims = {
      iss: LEGACY_ISSUER,
      [`${prefix}/namespace`]: namespace,
      [`${prefix}/secret.name`]: secretName,
      [`${prefix}/service-account.name`]: account.name,
      [`${prefix}/service-account.uid`]: account.uid,
      sub: serviceAccountUser(namespace, account.name),
    }
    return signJwt(claims, (await this.#loadKeys()).signing)
  }

  /** The public keys, for others who check tokens themselves. */
  async publicKeys(): Promise<{ keys: object[]; algorithms: string[] }> {
    const { checking } = await this.#loadKeys()
    return { keys: checking.map(jwkOf), algorithms: [...new Set(checking.map(({ algorithm }) => algorithm))] }
  }

  authenticate(token: string, audiences: readonly string[]): ReturnType<TokenAuthenticator['authenticate']> {
    const known = this.#known.get(token)
    if (known?.references.every((reference) => reference.isLoaded(this.#feed))) return this.#check(known, audiences)
    return this.#authenticateLater(token, known, audiences)
  }

  async #authenticateLater(
    token: string,
    remembered: KnownToken | undefined,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const known = remembered ?? (await this.#read(token))
    if (!known) return undefined
    await Promise.all(known.references.map((reference) => reference.load(this.#feed)))
    return this.#check(known, audiences)
  }

  #check(known: KnownToken, asked: readonly string[]): TokenIdentity {
    const now = this.#clock.now()
    if (now >= known.expires) throw new InvalidToken('service account token has expired')
    if (now + CLOCK_SKEW_MS < known.notBefore) throw new InvalidToken('service account token is not valid yet')
    const audiences = asked.filter((audience) => known.audiences.includes(audience))
    if (audiences.length === 0)
      throw new InvalidToken(
        `token audiences ${describe(known.audiences)} is invalid for the target audiences ${describe(asked)}`,
      )
    if (!known.references.every((reference) => reference.holds(this.#feed, now)))
      throw new InvalidToken('service account token has been invalidated')
    return { user: known.user, audiences }
  }

  async #read(token: string): Promise<KnownToken | undefined> {
    const jwt = decodeJwt(token)
    const issuer = jwt?.claims.iss
    if (!jwt || (issuer !== this.issuer && issuer !== LEGACY_ISSUER)) return undefined
    if (!isSignedBy(jwt, (await this.#loadKeys()).checking)) throw new InvalidToken('invalid signature')
    const known = issuer === LEGACY_ISSUER ? readLegacy(jwt, token, this.audiences) : readBound(jwt)
    if (!known) throw new InvalidToken('the claims of the token are not those of a service account')
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(token, known)
    return known
  }

  #loadKeys() {
    this.#keys ??= this.#readKeys().then((pems) => {
      const pairs = pems.map(keyPairOf)
      if (!pairs[0]) throw new Error('there is no key to sign service account tokens with')
      return { signing: pairs[0].signing, checking: pairs.map(({ checking }) => checking) }
    })
    return this.#keys
  }
}

const describe = (audiences: readonly string[]) => JSON.stringify(audiences)

function readBound({ claims }: DecodedJwt): KnownToken | undefined {
  const { sub, aud, exp, nbf, jti } = claims
  const own = claims['kubernetes.io'] as Record<string, unknown> | undefined
  const namespace = own?.namespace
  const account = named(own?.serviceaccount)
  const audiences = typeof aud === 'string' ? [aud] : aud
  if (typeof namespace !== 'string' || !account || !Array.isArray(audiences) || typeof exp !== 'number')
    return undefined
  if (sub !== serviceAccountUser(namespace, account.name)) return undefined
  const pod = named(own?.pod)
  const secret = named(own?.secret)
  const node = named(own?.node)
  const references = [new LiveReference('serviceaccounts', { namespace, ...account })]
  if (secret) references.push(new LiveReference('secrets', { namespace, ...secret }))
  if (pod) references.push(new LiveReference('pods', { namespace, ...pod }))
  // A pod's token tells its node; a token is bound to the node itself only without a pod.
  else if (node) references.push(new LiveReference('nodes', { namespace: '', ...node }))
  const extra: Record<string, readonly string[]> = {
    ...(typeof jti === 'string' && { [`${EXTRA}/credential-id`]: [`JTI=${jti}`] }),
    ...(pod && { [`${EXTRA}/pod-name`]: [pod.name], [`${EXTRA}/pod-uid`]: [pod.uid] }),
    ...(node && { [`${EXTRA}/node-name`]: [node.name], [`${EXTRA}/node-uid`]: [node.uid] }),
  }
  return {
    user: { ...serviceAccountIdentity(namespace, account.name, account.uid), extra },
    audiences: audiences.filter((audience) => typeof audience === 'string'),
    expires: exp * 1000,
    notBefore: typeof nbf === 'number' ? nbf * 1000 : 0,
    references,
  }
}

function readLegacy({ claims }: DecodedJwt, token: string, audiences: readonly string[]): KnownToken | undefined {
  const read = (name: string) => claims[`${LEGACY_ISSUER}/${name}`]
  const namespace = read('namespace')
  const name = read('service-account.name')
  const uid = read('service-account.uid')
  const secretName = read('secret.name')
  if (![namespace, name, uid, secretName].every((value) => typeof value === 'string' && value !== '')) return undefined
  const account = { namespace: namespace as string, name: name as string, uid: uid as string }
  if (claims.sub !== serviceAccountUser(account.namespace, account.name)) return undefined
  return {
    user: serviceAccountIdentity(account.namespace, account.name, account.uid),
    audiences,
    expires: Number.POSITIVE_INFINITY,
    notBefore: 0,
    references: [
      new LiveReference('serviceaccounts', account),
      new LiveReference('secrets', { namespace: account.namespace, name: secretName as string }, (object) =>
        holdsToken(object as Secret, token),
      ),
    ],
  }
}

const holdsToken = ({ data, metadata }: Secret, token: string) =>
  !metadata.deletionTimestamp && Buffer.from(data?.token ?? '', 'base64').toString() === token

function named(value: unknown): Named | undefined {
  const { name, uid } = (value ?? {}) as Partial<Named>
  return typeof name === 'string' && typeof uid === 'string' && name !== '' && uid !== '' ? { name, uid } : undefined
}
