/** Runs the pods of a node: the builtin runtime, a containerd of the node's own, or a runtime behind a CRI socket. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allImages } from '../../container-runtime/all-images.ts'
import { startBuiltinRuntime } from '../../container-runtime/builtin-runtime.ts'
import { type HostImageOptions, hostImage } from '../../container-runtime/host-image.ts'
import { openImageStore } from '../../container-runtime/image-store.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import { kernelMounter } from '../../kubelet/kernel-mounter.ts'
import { delegatedCgroup } from '../../linux/cgroups.ts'
import type { Part } from '../part.ts'
import {
  cgroupParentPath,
  containerdDir,
  hostTreesDir,
  imagesDir,
  kubeletDir,
  type NodeSettings,
  nodeCgroupRoot,
} from './node-settings.ts'
import { sandboxNetwork } from './pod-network.ts'
import type { ThisNode } from './this-node.ts'

export const containerRuntime: Part<ThisNode> = {
  name: 'container runtime',
  async start(node) {
    node.containerRuntime = await startRuntime(node)
  },
  async remove(node) {
    await removePods(node)
    await node.containerd?.remove()
  },
  async stop(node) {
    await node.containerRuntime[Symbol.asyncDispose]()
    await node.containerd?.[Symbol.asyncDispose]()
  },
}

/** Also pods of an earlier process, whether or not the kubelet has started in this one. */
async function removePods({ containerRuntime, systemCallAgents, settings }: ThisNode): Promise<void> {
  const sandboxes = await containerRuntime.listPodSandbox()
  await Promise.all(sandboxes.map(({ id }) => containerRuntime.removePodSandbox(id)))
  const mounter = kernelMounter(systemCallAgents)
  for (const path of await mounter.mountsUnder(kubeletDir(settings.dataDir))) await mounter.unmount(path)
}

function startRuntime(node: ThisNode): Promise<ContainerRuntime> {
  const { runtime, containerRuntimeEndpoint } = node.settings
  if (containerRuntimeEndpoint !== undefined) return startCri(node, containerRuntimeEndpoint)
  return runtime === 'containerd' ? startContainerd(node) : startBuiltin(node)
}

async function startBuiltin(node: ThisNode): Promise<ContainerRuntime> {
  const { settings, clock, random, log, podNetwork } = node
  const { dataDir, rootless, machineAddress: gateway } = settings
  const store = await openImageStore({
    clock,
    log,
    dir: imagesDir(dataDir),
    agent: node.systemCallAgents.host,
    rootless,
    registries: gateway === undefined ? {} : { loopback: gateway, insecure: [gateway] },
    inUse: async () =>
      (await runtime.listContainers()).flatMap(({ imageId, imageVolumes = [] }) => [imageId, ...imageVolumes]),
  })
  const runtime: ContainerRuntime = await startBuiltinRuntime({
    clock,
    random,
    log,
    stateDir: join(dataDir, 'containers'),
    rootless,
    network: sandboxNetwork(podNetwork.podNetwork),
    images: allImages(hostImage(hostImageOptions(node)), store),
    cgroupRoot: ownCgroupRoot(settings),
  })
  await store.collect()
  return runtime
}

/** Loads what containerd needs only here. */
async function startContainerd(node: ThisNode): Promise<ContainerRuntime> {
  const { settings, clock, log, podNetwork } = node
  const { startPrivateContainerd } = await import('../../container-runtime/private-containerd.ts')
  const { startCriRuntime } = await import('../../container-runtime/cri-runtime.ts')
  const common = { clock, log, cgroupRoot: nodeCgroupRoot(settings.dataDir) }
  const network = sandboxNetwork(podNetwork.podNetwork)
  const containerd = await startPrivateContainerd({ ...common, dir: containerdDir(settings.dataDir), network })
  const { socket, importArchive, pinned } = containerd
  const host = hostImage(hostImageOptions(node))
  try {
    const runtime = await startCriRuntime({ ...common, socket, importArchive, pinned, hostImage: host })
    node.containerd = containerd
    return runtime
  } catch (error) {
    await containerd[Symbol.asyncDispose]()
    throw error
  }
}

/** The network of its pods is made by the runtime's own CNI configuration. */
async function startCri({ settings, clock, log }: ThisNode, socket: string): Promise<ContainerRuntime> {
  const { startCriRuntime } = await import('../../container-runtime/cri-runtime.ts')
  return startCriRuntime({ clock, log, socket, cgroupRoot: nodeCgroupRoot(settings.dataDir) })
}

function hostImageOptions({ settings, systemCallAgents: agents }: ThisNode): HostImageOptions {
  const { dataDir, rootless, allowHostPath } = settings
  return {
    folder: imagesDir(dataDir),
    ...(!rootless && { mounting: { agents, treesFolder: hostTreesDir(dataDir) } }),
    ...(allowHostPath && { allowHostPath }),
  }
}

/** Without root, beside the cgroup of this process, where the system delegates one to the user. */
function ownCgroupRoot({ dataDir, rootless }: NodeSettings): string {
  const parent = rootless ? delegatedCgroup() : undefined
  if (parent !== undefined) writeFileSync(cgroupParentPath(dataDir), parent)
  return (parent ?? '') + nodeCgroupRoot(dataDir)
}
