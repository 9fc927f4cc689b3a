/** Images made on the spot from folders: an OCI layout, which skopeo, registries and our own import understand. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

export interface ImageLayer {
  /** As a folder, packed by GNU tar with root as the owner, or as a finished tar. */
  readonly folder?: string
  readonly tar?: Buffer
  readonly compression?: 'gzip' | 'none' | ((tar: Buffer) => { readonly bytes: Buffer; readonly mediaType: string })
}

export interface BuildImageOptions {
  /** The folder to write the layout to. */
  readonly to: string
  /** The full name: `test.local/busybox:1`. */
  readonly name: string
  /** The lowest first. */
  readonly layers: readonly ImageLayer[]
  /** The configuration's `config`: Cmd, Entrypoint, Env, User, WorkingDir, StopSignal. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly architecture?: string
}

export interface BuiltImage {
  readonly folder: string
  /** The digest of the manifest. */
  readonly digest: string
  /** The digest of the configuration, which is the image's id. */
  readonly id: string
}

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export const digestOf = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
export const ownArchitecture = () => (process.arch === 'x64' ? 'amd64' : process.arch)

export function buildImage(options: BuildImageOptions): BuiltImage {
  const { to, name, config = {}, architecture = ownArchitecture() } = options
  const blobs = path.join(to, 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  const put = (bytes: Buffer, mediaType: string): Descriptor => {
    const digest = digestOf(bytes)
    writeFileSync(path.join(blobs, digest.slice('sha256:'.length)), bytes)
    return { mediaType, digest, size: bytes.length }
  }
  const tars = options.layers.map((layer) => layer.tar ?? tarOf(layer.folder!))
  const layers = tars.map((tar, i) => {
    const { bytes, mediaType } = packed(tar, options.layers[i]!.compression ?? 'gzip')
    return put(bytes, mediaType)
  })
  const rootfs = { type: 'layers', diff_ids: tars.map(digestOf) }
  const configuration = put(json({ architecture, os: 'linux', config, rootfs }), `${OCI}.config.v1+json`)
  const manifest = put(
    json({ schemaVersion: 2, mediaType: `${OCI}.manifest.v1+json`, config: configuration, layers }),
    `${OCI}.manifest.v1+json`,
  )
  const named = { ...manifest, annotations: { 'org.opencontainers.image.ref.name': name } }
  writeFileSync(path.join(to, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }))
  writeFileSync(path.join(to, 'index.json'), json({ schemaVersion: 2, manifests: [named] }))
  return { folder: to, digest: manifest.digest, id: configuration.digest }
}

const OCI = 'application/vnd.oci.image'
const json = (value: unknown) => Buffer.from(JSON.stringify(value))

function packed(tar: Buffer, compression: NonNullable<ImageLayer['compression']>) {
  if (compression === 'gzip') return { bytes: gzipSync(tar), mediaType: `${OCI}.layer.v1.tar+gzip` }
  if (compression === 'none') return { bytes: tar, mediaType: `${OCI}.layer.v1.tar` }
  return compression(tar)
}

export function tarOf(folder: string, ...args: readonly string[]): Buffer {
  const options = ['--numeric-owner', '--owner=0', '--group=0', '--sort=name', ...args]
  return execFileSync('tar', [...options, '-C', folder, '-cf', '-', '.'], { maxBuffer: 2 ** 31 - 1 })
}
