const PATH_PART = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*'
const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const REFERENCE = new RegExp(
  `^(?:(${DOMAIN})/)?(${PATH_PART}(?:/${PATH_PART})*)(?::([\\w][\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
)
const MAX_NAME = 255

export interface ImageReference {
  /** `docker.io` where none is written. */
  readonly domain: string
  readonly path: string
  /** What is pulled: with `:latest` where neither tag nor digest is written. */
  readonly withTag: string
}

/** Undefined if the text is no image reference. */
export function parseImageReference(image: string): ImageReference | undefined {
  const match = image.length > 2 * MAX_NAME ? null : REFERENCE.exec(image)
  if (!match) return undefined
  const [, first, rest = '', tag, digest] = match
  // A first part without dot or port is not a host but a part of the path.
  const isHost = first !== undefined && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase())
  const domain = isHost ? first : 'docker.io'
  const path = isHost || first === undefined ? rest : `${first}/${rest}`
  if (path.length > MAX_NAME) return undefined
  const official = domain === 'docker.io' && !path.includes('/') ? `library/${path}` : path
  return { domain, path: official, withTag: tag || digest ? image : `${image}:latest` }
}
