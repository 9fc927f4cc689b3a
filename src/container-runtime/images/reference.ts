/** Names of images, written short (`busybox`) or whole (`docker.io/library/busybox:latest@sha256:…`). */
const PATH_PART = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*'
const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const TAG = '[\\w][\\w.-]{0,127}'
const REFERENCE = new RegExp(
  `^(?:(${DOMAIN})/)?(${PATH_PART}(?:/${PATH_PART})*)(?::(${TAG}))?(?:@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?$`,
)
const LONGEST_NAME = 255
const DOCKER_HUB = 'docker.io'

export interface Reference {
  /** The registry: `docker.io`, `localhost:5000`. */
  readonly domain: string
  readonly path: string
  /** `docker.io/library/busybox`. */
  readonly repository: string
  /** `latest` where neither tag nor digest is written. */
  readonly tag?: string
  readonly digest?: string
  /** The whole name; a digest outweighs a tag. */
  readonly name: string
}

/** Undefined if the text is no image reference. */
export function parseReference(text: string): Reference | undefined {
  const match = text.length > 2 * LONGEST_NAME ? null : REFERENCE.exec(text)
  if (!match) return undefined
  const [, first, rest = '', tag, digest] = match
  // A first part without dot or port is not a host but a part of the path.
  const isHost = first !== undefined && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase())
  const domain = isHost ? hubAsOne(first) : DOCKER_HUB
  const written = isHost || first === undefined ? rest : `${first}/${rest}`
  const path = domain === DOCKER_HUB && !written.includes('/') ? `library/${written}` : written
  const repository = `${domain}/${path}`
  if (repository.length > LONGEST_NAME) return undefined
  if (digest) return { domain, path, repository, digest, name: `${repository}@${digest}` }
  const chosen = tag ?? 'latest'
  return { domain, path, repository, tag: chosen, name: `${repository}:${chosen}` }
}

const hubAsOne = (domain: string) => (domain === 'index.docker.io' ? DOCKER_HUB : domain)

const DIGEST = /^(sha256):([0-9a-f]{64})$|^(sha512):([0-9a-f]{128})$/

/** The algorithm and the hexadecimal part; undefined for anything that could mean a path or a weak hash. */
export function parseDigest(digest: unknown): { readonly algorithm: string; readonly hex: string } | undefined {
  const match = typeof digest === 'string' ? DIGEST.exec(digest) : null
  if (!match) return undefined
  return { algorithm: (match[1] ?? match[3])!, hex: (match[2] ?? match[4])! }
}
