import type { Clock } from '../../base/clock.ts'
import { parseDuration } from '../../base/duration.ts'
import { aesCbc, aesGcm, identity } from './aes.ts'
import { dialKms } from './kms-client.ts'
import { kmsV2 } from './kms-v2.ts'
import type { EncryptionProvider } from './provider.ts'
import { secretbox } from './secretbox.ts'

/** Which providers the values of a resource go through; undefined where none do. */
export interface ResourceEncryption extends Disposable {
  /** `secrets`, `deployments.apps` */
  providersOf(resource: string): readonly EncryptionProvider[] | undefined
}

interface KeyConfiguration {
  readonly name?: string
  readonly secret?: string
}

interface ProviderConfiguration {
  readonly aesgcm?: { readonly keys?: readonly KeyConfiguration[] }
  readonly aescbc?: { readonly keys?: readonly KeyConfiguration[] }
  readonly secretbox?: { readonly keys?: readonly KeyConfiguration[] }
  readonly kms?: {
    readonly apiVersion?: string
    readonly name?: string
    readonly endpoint?: string
    readonly timeout?: string
  }
  readonly identity?: object
}

export interface EncryptionConfiguration {
  readonly kind?: string
  readonly apiVersion?: string
  readonly resources?: readonly {
    readonly resources?: readonly string[]
    readonly providers?: readonly ProviderConfiguration[]
  }[]
}

const KMS_TIMEOUT_MS = 3000

/** Reads an EncryptionConfiguration (apiserver.config.k8s.io/v1); throws what is wrong with it, and where. */
export async function readEncryption(
  configuration: EncryptionConfiguration,
  clock: Clock,
): Promise<ResourceEncryption> {
  const { kind, apiVersion } = configuration
  if (kind !== 'EncryptionConfiguration' || apiVersion !== 'apiserver.config.k8s.io/v1')
    throw new Error(`this is no EncryptionConfiguration of apiserver.config.k8s.io/v1, but ${kind} of ${apiVersion}`)
  const disposables: Disposable[] = []
  const rules: { readonly resources: readonly string[]; readonly providers: readonly EncryptionProvider[] }[] = []
  for (const [index, { resources = [], providers = [] }] of (configuration.resources ?? []).entries()) {
    const at = `resources[${index}]`
    if (resources.length === 0) throw new Error(`${at}.resources: required: at least one resource`)
    if (providers.length === 0) throw new Error(`${at}.providers: required: at least one provider`)
    const made: EncryptionProvider[] = []
    for (const [place, one] of providers.entries())
      made.push(...(await providersFrom(one, `${at}.providers[${place}]`, clock, disposables)))
    rules.push({ resources, providers: made })
  }
  if (rules.length === 0) throw new Error('resources: required: at least one')
  const known = new Map<string, readonly EncryptionProvider[] | undefined>()
  return {
    providersOf(resource) {
      if (!known.has(resource))
        known.set(resource, rules.find((rule) => rule.resources.some((one) => covers(one, resource)))?.providers)
      return known.get(resource)
    },
    [Symbol.dispose]() {
      for (const one of disposables) one[Symbol.dispose]()
    },
  }
}

/** `*.*` is everything, `*.` the core group, `*.apps` a group. */
function covers(pattern: string, resource: string): boolean {
  if (pattern === '*.*') return true
  if (pattern === '*.') return !resource.includes('.')
  if (pattern.startsWith('*.'))
    return resource.slice(resource.indexOf('.') + 1) === pattern.slice(2) && resource.includes('.')
  return pattern === resource
}

async function providersFrom(
  one: ProviderConfiguration,
  at: string,
  clock: Clock,
  disposables: Disposable[],
): Promise<EncryptionProvider[]> {
  const names = Object.keys(one)
  if (names.length !== 1) throw new Error(`${at}: exactly one provider is to be named, not ${names.length}`)
  if (one.identity) return [identity]
  if (one.aesgcm) return keysOf(one.aesgcm.keys, `${at}.aesgcm`).map(({ name, key }) => aesGcm(name, key))
  if (one.aescbc) return keysOf(one.aescbc.keys, `${at}.aescbc`).map(({ name, key }) => aesCbc(name, key))
  if (one.secretbox)
    return keysOf(one.secretbox.keys, `${at}.secretbox`, [32]).map(({ name, key }) => secretbox(name, key))
  if (!one.kms) throw new Error(`${at}: ${names[0]} is not supported: use aesgcm, aescbc, secretbox, kms or identity`)
  const { apiVersion = 'v2', name, endpoint, timeout } = one.kms
  if (apiVersion !== 'v2') throw new Error(`${at}.kms.apiVersion: unsupported value ${apiVersion}: only v2 is`)
  if (!name || name.includes(':')) throw new Error(`${at}.kms.name: required, without a colon`)
  if (!endpoint?.startsWith('unix://')) throw new Error(`${at}.kms.endpoint: must be unix:///path/to/socket`)
  const patience = timeout === undefined ? KMS_TIMEOUT_MS : parseDuration(timeout)
  if (!patience) throw new Error(`${at}.kms.timeout: ${timeout} is no duration`)
  const service = await dialKms(endpoint, patience, clock)
  const provider = kmsV2(name, service, clock)
  disposables.push(provider)
  return [provider]
}

function keysOf(
  keys: readonly KeyConfiguration[] = [],
  at: string,
  sizes: readonly number[] = [16, 24, 32],
): { name: string; key: Buffer }[] {
  if (keys.length === 0) throw new Error(`${at}.keys: required: at least one key`)
  const seen = new Set<string>()
  return keys.map(({ name = '', secret = '' }, index) => {
    const path = `${at}.keys[${index}]`
    if (name === '' || name.includes(':')) throw new Error(`${path}.name: required, without a colon`)
    if (seen.has(name)) throw new Error(`${path}.name: ${name} is there twice`)
    seen.add(name)
    const key = Buffer.from(secret, 'base64')
    if (key.toString('base64').replace(/=+$/, '') !== secret.trim().replace(/=+$/, ''))
      throw new Error(`${path}.secret: must be base64`)
    if (!sizes.includes(key.length))
      throw new Error(`${path}.secret: a key has ${sizes.join(' or ')} bytes, this one ${key.length}`)
    return { name, key }
  })
}
