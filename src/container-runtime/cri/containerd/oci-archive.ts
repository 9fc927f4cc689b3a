import { createHash } from 'node:crypto'
import type { Architecture } from '../../../linux/syscall-numbers.ts'
import type { ImageConfig } from '../../image-content.ts'
import { type TarEntry, tarOf } from './tar-writer.ts'

const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
}

/** An image of one layer, as an OCI layout in an archive: https://github.com/opencontainers/image-spec */
export function ociArchive(
  name: string,
  layer: readonly TarEntry[],
  config: ImageConfig,
  architecture: Architecture,
): Buffer {
  const blobs: TarEntry[] = []
  const put = (mediaType: string, content: Buffer) => {
    const digest = createHash('sha256').update(content).digest('hex')
    blobs.push({ name: `blobs/sha256/${digest}`, mode: 0o644, content })
    return { mediaType, digest: `sha256:${digest}`, size: content.length }
  }
  const json = (value: unknown) => Buffer.from(JSON.stringify(value))
  const layerBlob = put(MEDIA.layer, tarOf(layer))
  const { env, entrypoint, command, workingDir, user, stopSignal } = config
  const configBlob = put(
    MEDIA.config,
    json({
      architecture: architecture === 'x64' ? 'amd64' : architecture,
      os: 'linux',
      config: {
        Env: env,
        Entrypoint: entrypoint,
        Cmd: command,
        WorkingDir: workingDir,
        User: user,
        ...(stopSignal && { StopSignal: stopSignal }),
      },
      rootfs: { type: 'layers', diff_ids: [layerBlob.digest] },
    }),
  )
  const manifest = put(
    MEDIA.manifest,
    json({ schemaVersion: 2, mediaType: MEDIA.manifest, config: configBlob, layers: [layerBlob] }),
  )
  const named = { ...manifest, annotations: { 'io.containerd.image.name': name } }
  return tarOf([
    { name: 'oci-layout', mode: 0o644, content: json({ imageLayoutVersion: '1.0.0' }) },
    {
      name: 'index.json',
      mode: 0o644,
      content: json({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [named] }),
    },
    ...blobs,
  ])
}
