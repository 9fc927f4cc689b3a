/** Indexes, manifests and configurations, of OCI and of Docker: JSON by strangers, believed only as far as it was checked. */
import type { ImageConfig } from '../image-content.ts'
import { badImage } from './image-error.ts'
import type { Platform } from './platform.ts'
import { parseDigest } from './reference.ts'

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly annotations: Readonly<Record<string, string>>
}

export interface IndexEntry extends Descriptor {
  readonly platform?: Partial<Platform>
}

export type Document =
  | { readonly kind: 'index'; readonly manifests: readonly IndexEntry[] }
  | { readonly kind: 'manifest'; readonly config: Descriptor; readonly layers: readonly Descriptor[] }

export interface Configuration {
  readonly platform: Partial<Platform>
  readonly diffIds: readonly string[]
  readonly config: ImageConfig
}

export const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
] as const

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

export function parseJson(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw badImage(`${what} is no JSON`)
  }
}

export function parseDocument(bytes: Buffer): Document {
  const value = parseJson(bytes, 'the manifest')
  if (!isObject(value)) throw badImage('the manifest is no object')
  if (value.schemaVersion === 1) throw badImage('Docker image format v1 and schema 1 manifests are not supported')
  if (Array.isArray(value.manifests)) {
    if (value.layers !== undefined) throw badImage('a manifest cannot be an index and an image at once')
    return { kind: 'index', manifests: value.manifests.map(parseIndexEntry) }
  }
  if (!isObject(value.config) || !Array.isArray(value.layers)) throw badImage('neither an image manifest nor an index')
  return { kind: 'manifest', config: parseDescriptor(value.config), layers: value.layers.map(parseDescriptor) }
}

export function parseDescriptor(value: unknown): Descriptor {
  if (!isObject(value)) throw badImage('a descriptor is no object')
  const { mediaType, digest, size } = value
  if (!parseDigest(digest)) throw badImage(`${JSON.stringify(digest)} is no digest`)
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw badImage(`${JSON.stringify(size)} is no size`)
  return {
    mediaType: text(mediaType),
    digest: digest as string,
    size,
    annotations: textMap(value.annotations),
  }
}

function parseIndexEntry(value: unknown): IndexEntry {
  const descriptor = parseDescriptor(value)
  const platform = (value as Json).platform
  return isObject(platform) ? { ...descriptor, platform: platformOf(platform) } : descriptor
}

const platformOf = (value: Json): Partial<Platform> => ({
  os: text(value.os),
  architecture: text(value.architecture),
  ...(text(value.variant) && { variant: text(value.variant) }),
})

export function parseConfiguration(bytes: Buffer): Configuration {
  const value = parseJson(bytes, 'the configuration')
  if (!isObject(value) || !isObject(value.rootfs)) throw badImage('the configuration has no rootfs')
  const diffIds: unknown = value.rootfs.diff_ids ?? []
  if (!Array.isArray(diffIds) || !diffIds.every((id) => parseDigest(id)?.algorithm === 'sha256'))
    throw badImage('the configuration has bad diff_ids')
  const config = isObject(value.config) ? value.config : {}
  return {
    platform: platformOf(value),
    diffIds: diffIds as string[],
    config: {
      user: text(config.User),
      env: texts(config.Env),
      entrypoint: texts(config.Entrypoint),
      command: texts(config.Cmd),
      workingDir: text(config.WorkingDir),
      stopSignal: text(config.StopSignal),
    },
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []

function textMap(value: unknown): Record<string, string> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
