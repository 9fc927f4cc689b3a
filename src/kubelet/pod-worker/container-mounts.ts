import { chmod, mkdir, open, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Container, Pod, VolumeMount } from '../../api/generated/core-v1.ts'
import type { Mount } from '../../container-runtime/container-config.ts'
import { expandStrictly } from '../environment/expansion.ts'
import { podHostname } from '../environment/hostname.ts'
import { hostNetworkHostsFile, podHostsFile } from '../environment/hosts-file.ts'
import type { Mounter } from '../mounter.ts'
import { openSubPath } from '../volumes/sub-path.ts'
import type { MountedVolume } from '../volumes/volume-plugin.ts'
import { hostsFile, subPathTarget, terminationFile } from './pod-paths.ts'

export interface MountInput {
  readonly pod: Pod
  readonly container: Container
  readonly attempt: number
  readonly volumes: ReadonlyMap<string, MountedVolume>
  /** Ids of those volumes that are images, by the names of the volumes. */
  readonly volumeImages: ReadonlyMap<string, string>
  readonly env: ReadonlyMap<string, string>
  readonly podIPs: readonly string[]
  readonly rootDir: string
  readonly clusterDomain: string
  readonly mounter: Mounter
}

const PROPAGATION: Record<string, Mount['propagation']> = {
  HostToContainer: 'HOST_TO_CONTAINER',
  Bidirectional: 'BIDIRECTIONAL',
}

/** Everything that is mounted into a container: its volumes, /etc/hosts, and the file for its last words. */
export async function containerMounts(input: MountInput): Promise<Mount[]> {
  const { container } = input
  const mounts: Mount[] = []
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) mounts.push(await volumeMount(input, mount, i))
  if (!mounts.some(({ containerPath }) => containerPath === '/etc/hosts')) mounts.push(await hostsMount(input))
  if (container.terminationMessagePath) mounts.push(await terminationMount(input))
  return mounts
}

async function volumeMount(input: MountInput, mount: VolumeMount, index: number): Promise<Mount> {
  const volume = input.volumes.get(mount.name)
  if (!volume) throw new Error(`cannot find volume "${mount.name}" to mount into container "${input.container.name}"`)
  const subPath = mount.subPathExpr ? expandedSubPath(mount.subPathExpr, input.env) : mount.subPath
  const readonly = mount.readOnly === true || volume.readOnly === true
  const containerPath = mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`
  if (volume.image) {
    const image = { id: input.volumeImages.get(mount.name) ?? '', ...(subPath && { subPath }) }
    return { containerPath, hostPath: '', readonly: true, propagation: 'PRIVATE', image }
  }
  return {
    containerPath,
    hostPath: subPath ? await subPathOf(input, mount, volume.path, subPath, index) : volume.path,
    readonly,
    ...(readonly && mount.recursiveReadOnly === 'Enabled' && { recursiveReadonly: true }),
    propagation: PROPAGATION[mount.mountPropagation ?? ''] ?? 'PRIVATE',
  }
}

function expandedSubPath(expression: string, env: ReadonlyMap<string, string>): string {
  const subPath = expandStrictly(expression, (name) => env.get(name))
  if (path.isAbsolute(subPath)) throw new Error(`error SubPath \`${subPath}\` must not be an absolute path`)
  if (subPath.split('/').includes('..'))
    throw new Error(`unable to provision SubPath \`${subPath}\`: must not contain '..'`)
  return subPath
}

/** Bound by its descriptor to a place of the node's own: no change of the volume leads the container elsewhere. */
async function subPathOf(input: MountInput, { name }: VolumeMount, volume: string, subPath: string, index: number) {
  const { pod, container, rootDir, mounter } = input
  const text = `subPath for volumeMount "${name}" of container "${container.name}"`
  using part = await openSubPath(volume, subPath).catch((error: Error) => {
    throw new Error(`failed to prepare ${text}: ${error.message}`)
  })
  if (!mounter.canMount) return realpath(part.path)
  const target = subPathTarget(rootDir, pod.metadata.uid ?? '', name, container.name, index)
  for (const mounted of await mounter.mountsUnder(target)) await mounter.unmount(mounted)
  if ((await stat(part.path)).isDirectory()) await mkdir(target, { recursive: true })
  else await touch(target)
  await mounter.bind(part.pathForOthers, target)
  return target
}

async function touch(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await (await open(file, 'a')).close()
}

async function hostsMount({ pod, podIPs, rootDir, clusterDomain }: MountInput): Promise<Mount> {
  const file = hostsFile(rootDir, pod.metadata.uid ?? '')
  const aliases = pod.spec?.hostAliases
  const text = pod.spec?.hostNetwork
    ? hostNetworkHostsFile(await readFile('/etc/hosts', 'utf8').catch(() => ''), aliases)
    : podHostsFile(podIPs, podHostname(pod, clusterDomain), aliases)
  await mkdir(path.dirname(file), { recursive: true })
  // The same file in all containers, so that what one of them adds is kept while the pod is.
  if (!(await holds(file, text))) await writeFile(file, text)
  await chmod(file, 0o644)
  return { containerPath: '/etc/hosts', hostPath: file, readonly: false, propagation: 'PRIVATE' }
}

/** Reads no more than the text has: containers may write to the file whatever they like. */
async function holds(file: string, text: string): Promise<boolean> {
  const expected = Buffer.from(text)
  const handle = await open(file).catch(() => undefined)
  try {
    if (!handle || (await handle.stat()).size !== expected.length) return false
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(expected.length), 0, expected.length, 0)
    return buffer.subarray(0, bytesRead).equals(expected)
  } finally {
    await handle?.close()
  }
}

async function terminationMount({ pod, container, attempt, rootDir }: MountInput): Promise<Mount> {
  const file = terminationFile(rootDir, pod.metadata.uid ?? '', container.name, attempt)
  await touch(file)
  await chmod(file, 0o666)
  const containerPath = container.terminationMessagePath!
  return {
    containerPath: containerPath.startsWith('/') ? containerPath : `/${containerPath}`,
    hostPath: file,
    readonly: false,
    propagation: 'PRIVATE',
  }
}
