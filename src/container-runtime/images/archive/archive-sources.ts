/** The images of an archive: an OCI layout (folder or tar) or what `docker save` writes. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Descriptor, parseConfiguration, parseDocument, parseJson } from '../documents.ts'
import { badImage } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import { chooseManifest, fits, type Platform } from '../platform.ts'
import { parseDigest, parseReference } from '../reference.ts'
import type { ImageSource, LayerSource } from '../source.ts'
import { decompressed } from '../unpack/decompress.ts'
import { type ArchiveFiles, folderFiles, tarFiles } from './archive-files.ts'

export interface ArchiveOptions {
  readonly path: string
  readonly platform: Platform
  readonly limits: ImageLimits
  /** For the archive without its compression. */
  readonly folder: string
}

export async function archiveSources(options: ArchiveOptions): Promise<ImageSource[]> {
  const files = await filesOf(options)
  // Docker's newer archives are both; the manifest of the layout has the digests besides.
  if (files.has('index.json')) return layoutSources(files, options)
  if (files.has('manifest.json')) return dockerSources(files, options)
  throw badImage(`${options.path} is neither a docker archive nor an OCI layout: no manifest.json, no index.json`)
}

async function filesOf({ path: archive, limits, folder }: ArchiveOptions): Promise<ArchiveFiles> {
  const stat = fs.statSync(archive, { throwIfNoEntry: false })
  if (!stat) throw badImage(`there is no ${archive}`)
  if (stat.isDirectory()) return folderFiles(archive)
  if (!(await isCompressed(archive))) return tarFiles(archive, limits.headerBytes)
  const plain = path.join(folder, 'archive.tar')
  await pipeline(
    bounded(decompressed(fs.createReadStream(archive)), limits.layerBytes),
    fs.createWriteStream(plain, { mode: 0o600 }),
  )
  return tarFiles(plain, limits.headerBytes)
}

async function isCompressed(file: string): Promise<boolean> {
  const handle = await fs.promises.open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.readUInt16BE(0) === 0x1f8b || buffer.readUInt32BE(0) === 0x28b52ffd
  } finally {
    await handle.close()
  }
}

async function* bounded(source: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Buffer> {
  let total = 0
  for await (const bytes of source) {
    total += bytes.length
    if (total > limit) throw badImage(`the archive is larger than ${limit} bytes`)
    yield bytes
  }
}

interface DockerImage {
  readonly Config?: unknown
  readonly RepoTags?: unknown
  readonly Layers?: unknown
}

function dockerSources(files: ArchiveFiles, { platform, limits }: ArchiveOptions): ImageSource[] {
  const manifest = parseJson(files.read('manifest.json', limits.documentBytes), 'manifest.json')
  if (!Array.isArray(manifest)) throw badImage('manifest.json is no list')
  return (manifest as readonly DockerImage[]).map(({ Config, RepoTags, Layers }) => {
    if (typeof Config !== 'string' || !Array.isArray(Layers)) throw badImage('manifest.json has no Config or Layers')
    const bytes = files.read(Config, limits.documentBytes)
    const configuration = parseConfiguration(bytes)
    checkFits(configuration, Layers.length, platform, limits)
    const tags = (Array.isArray(RepoTags) ? RepoTags : []).map((tag) => parseReference(String(tag))?.name)
    return {
      id: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
      configuration,
      layers: Layers.map((name) => layerOf(files, String(name))),
      tags: tags.filter((tag) => tag !== undefined),
      digests: [],
    }
  })
}

function layoutSources(files: ArchiveFiles, options: ArchiveOptions): ImageSource[] {
  const { limits } = options
  const index = parseDocument(files.read('index.json', limits.documentBytes))
  if (index.kind !== 'index') throw badImage('index.json is no index')
  const byDigest = new Map<string, ImageSource>()
  const named = index.manifests.filter((entry) => !entry.annotations['vnd.docker.reference.type'])
  // Several manifests by one name are one image for several platforms.
  const chosen = new Map<string, Descriptor>()
  for (const entry of named) {
    const name = nameOf(entry, options.path) ?? entry.digest
    const rivals = named.filter((other) => (nameOf(other, options.path) ?? other.digest) === name)
    const best = rivals.length === 1 ? entry : chooseManifest(rivals, options.platform)
    if (best) chosen.set(name, best)
  }
  for (const [name, entry] of chosen) {
    const source = layoutSource(files, entry, name === entry.digest ? undefined : name, options)
    const known = byDigest.get(source.id)
    byDigest.set(source.id, known ? merged(known, source) : source)
  }
  return [...byDigest.values()]
}

const merged = (a: ImageSource, b: ImageSource): ImageSource => ({
  ...a,
  tags: [...new Set([...a.tags, ...b.tags])],
  digests: [...new Set([...a.digests, ...b.digests])],
})

/** The name an archive gives: whole, or a tag alone, which is then one of the archive itself. */
function nameOf({ annotations }: Descriptor, archive: string): string | undefined {
  const name = annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name']
  if (name === undefined) return undefined
  if (/[/:]/.test(name)) return parseReference(name)?.name
  const base = path
    .basename(archive)
    .replace(/\.(tar|tgz|tar\.gz|tar\.zst|oci)$/, '')
    .toLowerCase()
  return parseReference(`localhost/${base}:${name}`)?.name
}

function layoutSource(
  files: ArchiveFiles,
  root: Descriptor,
  name: string | undefined,
  options: ArchiveOptions,
): ImageSource {
  const { limits, platform } = options
  let document = parseDocument(blobOf(files, root, limits))
  for (let depth = 0; document.kind === 'index'; depth++) {
    const chosen = depth < 4 ? chooseManifest(document.manifests, platform) : undefined
    if (!chosen)
      throw badImage(`no match for platform in manifest: not found (wanted ${platform.os}/${platform.architecture})`)
    document = parseDocument(blobOf(files, chosen, limits))
  }
  const { config, layers } = document
  const configuration = parseConfiguration(blobOf(files, config, limits))
  checkFits(configuration, layers.length, platform, limits)
  const repository = name && parseReference(name)?.repository
  return {
    id: config.digest,
    configuration,
    layers: layers.map((layer) => layerOf(files, blobPath(layer.digest), layer)),
    tags: name === undefined ? [] : [name],
    digests: repository ? [`${repository}@${root.digest}`] : [],
  }
}

function blobPath(digest: string): string {
  const { algorithm, hex } = parseDigest(digest)!
  return `blobs/${algorithm}/${hex}`
}

function blobOf(files: ArchiveFiles, { digest }: Descriptor, { documentBytes }: ImageLimits): Buffer {
  const { algorithm, hex } = parseDigest(digest)!
  const bytes = files.read(blobPath(digest), documentBytes)
  if (createHash(algorithm).update(bytes).digest('hex') !== hex) throw badImage(`the blob ${digest} has another digest`)
  return bytes
}

function checkFits(
  { platform: own, diffIds }: ReturnType<typeof parseConfiguration>,
  layers: number,
  platform: Platform,
  limits: ImageLimits,
): void {
  if (!fits(own, platform)) throw badImage(`the image is for ${own.os}/${own.architecture}`)
  if (diffIds.length !== layers || layers > limits.layers)
    throw badImage(`${layers} layers, but ${diffIds.length} diff_ids`)
}

function layerOf(files: ArchiveFiles, name: string, blob?: Descriptor): LayerSource {
  const size = files.size(name)
  return {
    name: blob?.digest ?? name,
    size,
    async fetch(signal, onBytes) {
      if (blob) await checkBlob(files.open(name), blob, signal)
      onBytes(size)
    },
    open: () => files.open(name),
    async discard() {},
  }
}

async function checkBlob(bytes: AsyncIterable<Buffer>, { digest }: Descriptor, signal: AbortSignal): Promise<void> {
  const { algorithm, hex } = parseDigest(digest)!
  const hash = createHash(algorithm)
  for await (const chunk of bytes) {
    signal.throwIfAborted()
    hash.update(chunk)
  }
  if (hash.digest('hex') !== hex) throw badImage(`the blob ${digest} has another digest`)
}
