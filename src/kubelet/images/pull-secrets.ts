import type { Secret } from '../../api/generated/core-v1.ts'
import { SECRET_TYPE } from '../../api/meta/well-known.ts'
import type { RegistryAuth } from '../../container-runtime/image-service.ts'
import type { ImageReference } from './reference.ts'

interface DockerConfigEntry {
  readonly username?: string
  readonly password?: string
  readonly auth?: string
  readonly identitytoken?: string
  readonly registrytoken?: string
}

const DOCKER_HUB = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io'])

/** The credentials in these secrets that fit an image, the most specific first. */
export function credentialsFor(reference: ImageReference, secrets: readonly Secret[]): RegistryAuth[] {
  const found: { key: string; auth: RegistryAuth }[] = []
  for (const secret of secrets)
    for (const [key, entry] of Object.entries(entriesOf(secret)))
      if (matches(key, reference)) found.push({ key, auth: authOf(entry) })
  return found.sort((a, b) => b.key.length - a.key.length).map(({ auth }) => auth)
}

/** A secret of another type, or with nonsense in it, has no credentials. */
function entriesOf({ type, data = {} }: Secret): Record<string, DockerConfigEntry> {
  const isJson = type === SECRET_TYPE.dockerConfigJson
  const text = data[isJson ? '.dockerconfigjson' : '.dockercfg']
  if (text === undefined) return {}
  try {
    const parsed = JSON.parse(Buffer.from(text, 'base64').toString()) as Record<string, unknown>
    return ((isJson ? parsed.auths : parsed) ?? {}) as Record<string, DockerConfigEntry>
  } catch {
    return {}
  }
}

/** Keys are hosts, perhaps with a scheme, a path of which the image's begins with, and `*` for a part of the host. */
function matches(key: string, { domain, path }: ImageReference): boolean {
  const bare = key.replace(/^https?:\/\//, '').replace(/\/(v1|v2)?\/?$/, '')
  const slash = bare.indexOf('/')
  const host = slash < 0 ? bare : bare.slice(0, slash)
  const prefix = slash < 0 ? '' : bare.slice(slash + 1)
  return hostMatches(host, domain) && (prefix === '' || path === prefix || path.startsWith(`${prefix}/`))
}

function hostMatches(pattern: string, host: string): boolean {
  if (DOCKER_HUB.has(pattern) && DOCKER_HUB.has(host)) return true
  const [wanted, given] = [pattern.split('.'), host.split('.')]
  if (wanted.length !== given.length) return false
  return wanted.every((part, i) => globMatches(part, given[i]!))
}

function globMatches(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text
  const source = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${source.join('.*')}$`).test(text)
}

function authOf(entry: DockerConfigEntry): RegistryAuth {
  const [username, ...rest] = entry.auth ? Buffer.from(entry.auth, 'base64').toString().split(':') : [entry.username]
  const password = entry.auth ? rest.join(':') : entry.password
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(entry.identitytoken && { identityToken: entry.identitytoken }),
    ...(entry.registrytoken && { registryToken: entry.registrytoken }),
  }
}
