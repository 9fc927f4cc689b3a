import path from 'node:path'
import type { Container, Pod } from '../../api/generated/core-v1.ts'
import type { ContainerConfig } from '../../container-runtime/container-config.ts'
import type { Image } from '../../container-runtime/image-service.ts'
import { containerEnvironment } from '../environment/environment.ts'
import { expand } from '../environment/expansion.ts'
import { serviceEnvironment } from '../environment/service-environment.ts'
import { containerAnnotations, containerLabels } from '../pod/runtime-labels.ts'
import { readVolumeFile } from '../volumes/sub-path.ts'
import type { MountedVolume } from '../volumes/volume-plugin.ts'
import { containerMounts } from './container-mounts.ts'
import { containerLogPath } from './pod-paths.ts'
import { containerResources } from './resources.ts'
import { checkNonRoot, securityContext } from './security.ts'
import { podReference, type WorkerContext } from './worker-context.ts'

export interface ContainerInput {
  readonly pod: Pod
  readonly container: Container
  readonly attempt: number
  readonly image: Image
  readonly podIPs: readonly string[]
  readonly volumes: ReadonlyMap<string, MountedVolume>
  readonly volumeImages: ReadonlyMap<string, string>
}

/** Everything the runtime must know to make a container; fails if something that it refers to is not there. */
export async function containerConfig(context: WorkerContext, input: ContainerInput): Promise<ContainerConfig> {
  const { pod, container, attempt, image, podIPs, volumes, volumeImages } = input
  checkNonRoot(pod, container, image)
  const promised = await context.devices(pod, container)
  const env = await environmentOf(context, input)
  for (const [name, value] of promised.env) if (!env.has(name)) env.set(name, value)
  const { rootDir, mounter, dns } = context
  const clusterDomain = dns.clusterDomain
  const mounts = await containerMounts({
    pod,
    container,
    attempt,
    volumes,
    volumeImages,
    env,
    podIPs,
    rootDir,
    clusterDomain,
    mounter,
  })
  const expanded = (list: readonly string[] = []) => list.map((text) => expand(text, (name) => env.get(name)))
  const stopSignal = container.lifecycle?.stopSignal
  return {
    name: container.name,
    attempt,
    imageId: image.id,
    image: container.image ?? '',
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    env: [...env].map(([name, value]) => ({ name, value })),
    mounts: [...mounts, ...promised.mounts.map((one) => ({ ...one, propagation: 'PRIVATE' as const }))],
    devices: promised.devices,
    labels: containerLabels(pod, container.name),
    annotations: containerAnnotations(pod, container, attempt),
    logPath: containerLogPath(container.name, attempt),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    ...(stopSignal && { stopSignal }),
    resources: containerResources(pod, container, context.node()),
    security: securityContext(pod, container, {
      profilesDir: path.join(rootDir, 'seccomp'),
      seccompDefault: context.seccompDefault,
      user: context.userNamespaces.of(pod),
    }),
  }
}

/** Larger files hold something else than variables. */
const MAX_ENV_FILE = 64 * 1024

function environmentOf(context: WorkerContext, { pod, container, podIPs, volumes }: ContainerInput) {
  const { namespace = '' } = pod.metadata
  return containerEnvironment({
    pod,
    container,
    node: context.node(),
    addresses: { podIPs, hostIPs: context.hostIPs() },
    services: serviceEnvironment(context.services(), namespace, pod.spec?.enableServiceLinks !== false),
    source: context.source,
    volumeFile: async (volume, file) => {
      const mounted = volumes.get(volume)
      return mounted && readVolumeFile(mounted.path, file, MAX_ENV_FILE)
    },
    onInvalidNames: (names, from) =>
      context.events.event(
        podReference(pod),
        'Warning',
        'InvalidEnvironmentVariableNames',
        `Keys [${names.join(', ')}] from the EnvFrom ${from} were skipped since they are considered invalid environment variable names.`,
      ),
  })
}
