/** An image in a registry: found by its reference, for this platform, from the first endpoint that has it. */
import fs from 'node:fs'
import path from 'node:path'
import { linkAbort } from '../../../base/abort.ts'
import type { Clock } from '../../../base/clock.ts'
import type { RegistryAuth } from '../../image-service.ts'
import { RuntimeError } from '../../runtime.ts'
import { type Descriptor, parseConfiguration, parseDocument } from '../documents.ts'
import { badImage, imageError } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import { chooseManifest, fits, type Platform } from '../platform.ts'
import { parseDigest, type Reference } from '../reference.ts'
import type { ImageSource, LayerSource } from '../source.ts'
import { downloadBlob } from './blob-download.ts'
import { endpointsOf, type RegistryOptions } from './endpoints.ts'
import { type FetchedDocument, isTransient, RegistryClient, TryAgain } from './registry-client.ts'

export interface RegistrySourceOptions {
  readonly reference: Reference
  readonly auth: RegistryAuth | undefined
  readonly registries: RegistryOptions
  readonly platform: Platform
  readonly limits: ImageLimits
  readonly clock: Clock
  readonly stallTimeout: number
  /** Blobs are here until they are unpacked. */
  readonly folder: string
  readonly signal: AbortSignal
}

const ATTEMPTS = 3
const FIRST_WAIT = 500
const MOST_INDEXES = 4

export async function registrySource(options: RegistrySourceOptions): Promise<ImageSource> {
  const { reference, platform, limits, signal } = options
  const { client, document: first } = await resolve(options)
  let parsed = parseDocument(first.bytes)
  for (let depth = 0; parsed.kind === 'index'; depth++) {
    const chosen = depth < MOST_INDEXES ? chooseManifest(parsed.manifests, platform) : undefined
    if (!chosen) throw noMatch(platform)
    const { digest } = chosen
    parsed = parseDocument((await patiently(options, () => client.manifest(digest, signal))).bytes)
  }
  const { config, layers } = parsed
  const configuration = parseConfiguration(await patiently(options, () => client.document(config.digest, signal)))
  if (!fits(configuration.platform, platform)) throw noMatch(platform)
  if (configuration.diffIds.length !== layers.length || layers.length > limits.layers)
    throw badImage(`${layers.length} layers, but ${configuration.diffIds.length} diff_ids (at most ${limits.layers})`)
  return {
    id: config.digest,
    configuration,
    layers: layers.map((layer, i) => layerSource(layer, i, client, options)),
    tags: reference.tag === undefined ? [] : [reference.name],
    digests: [`${reference.repository}@${first.digest}`],
  }
}

const noMatch = ({ os, architecture }: Platform) =>
  imageError('NotFound', `no match for platform in manifest: not found (wanted ${os}/${architecture})`)

interface Resolved {
  readonly client: RegistryClient
  readonly document: FetchedDocument
}

/** All endpoints in turn; those that do not answer are asked again only if none has answered. */
async function resolve(options: RegistrySourceOptions): Promise<Resolved> {
  const { reference, auth, registries, clock, stallTimeout, limits, signal } = options
  const endpoints = endpointsOf(reference.domain, registries)
  return patiently(options, async () => {
    let failure: unknown
    for (const endpoint of endpoints) {
      const client = new RegistryClient({
        reference,
        endpoint,
        auth,
        clock,
        stallTimeout,
        documentLimit: limits.documentBytes,
      })
      try {
        return { client, document: await client.manifest(reference.digest ?? reference.tag!, signal) }
      } catch (error) {
        if (signal.aborted) throw error
        // An answer says more than no answer, and the registry's own more than a mirror's.
        if (failure === undefined || error instanceof RuntimeError) failure = error
      }
    }
    throw failure
  })
}

async function patiently<T>({ clock, signal }: RegistrySourceOptions, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error
      if (attempt === ATTEMPTS) throw imageError('Unavailable', (error as Error).message, error)
      const wait = FIRST_WAIT * 2 ** (attempt - 1)
      await clock.sleep(error instanceof TryAgain ? Math.max(wait, error.wait) : wait, signal)
    }
  }
}

function layerSource(
  blob: Descriptor,
  position: number,
  client: RegistryClient,
  options: RegistrySourceOptions,
): LayerSource {
  const file = path.join(options.folder, `${position}-${parseDigest(blob.digest)!.hex}`)
  return {
    name: blob.digest,
    size: blob.size,
    async fetch(signal, onBytes) {
      using linked = linkAbort(signal, options.signal)
      await downloadBlob({ client, blob, file, clock: options.clock, signal: linked.signal, onBytes })
    },
    open: () => fs.createReadStream(file, { highWaterMark: 256 * 1024 }),
    discard: async () => fs.rmSync(file, { force: true }),
  }
}
