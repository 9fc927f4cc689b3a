import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { ociArchive } from '../../src/container-runtime/cri/containerd/oci-archive.ts'
import { folderEntries } from '../../src/container-runtime/cri/containerd/tar-writer.ts'
import { startCriRuntime } from '../../src/container-runtime/cri-runtime.ts'
import { type PrivateContainerd, startPrivateContainerd } from '../../src/container-runtime/private-containerd.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import type { SandboxNetwork } from '../../src/container-runtime/sandbox-network.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { ownArchitecture } from '../../src/linux/syscall-numbers.ts'
import { BUSYBOX_CONFIG, makeBusyboxRoot } from './busybox-image.ts'

export const CONTAINERD_IMAGE = 'test.local/busybox:1'

/** The loopback of the namespace that containerd made, and nothing else. */
export function loopbackOfContainerd(): SandboxNetwork {
  const { namespaces, openRtnetlink } = kernelLinux()
  return {
    async attach({ sandboxId, netnsPath }) {
      const name = `sampan-test-${sandboxId.slice(0, 16)}`
      using namespace = namespaces.adopt(name, netnsPath!)
      using network = openRtnetlink(namespace)
      network.changeLink(network.link('lo')!.index, { up: true })
      namespaces.delete(name)
      return { netnsPath: netnsPath!, ips: ['127.0.0.1'] }
    },
    async detach() {},
  }
}

export interface ContainerdMachine extends AsyncDisposable {
  readonly dir: string
  readonly cgroupRoot: string
  readonly logDirectory: string
  readonly imageId: string
  readonly containerd: PrivateContainerd
  readonly runtime: ContainerRuntime
  /** As another process would, on the same containerd. */
  startRuntime(): Promise<ContainerRuntime>
}

let machines = 0

/** A containerd of the test's own, with one image; everything is gone afterwards. */
export async function containerdMachine(network = loopbackOfContainerd()): Promise<ContainerdMachine> {
  const dir = mkdtempSync(path.join(tmpdir(), 'sampan-containerd-'))
  const cgroupRoot = `/sampan-test-containerd-${process.pid}-${machines++}`
  const common = { clock: systemClock, log: silentLogger, cgroupRoot }
  const containerd = await startPrivateContainerd({ ...common, dir: path.join(dir, 'containerd'), network })
  const { socket, importArchive, pinned } = containerd
  const startRuntime = () => startCriRuntime({ ...common, socket, importArchive, pinned })
  const runtime = await startRuntime()
  const [image] = await runtime.images.import(writeBusyboxArchive(dir))
  return {
    dir,
    cgroupRoot,
    logDirectory: path.join(dir, 'logs'),
    imageId: image!.id,
    containerd,
    runtime,
    startRuntime,
    async [Symbol.asyncDispose]() {
      for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id)
      await runtime[Symbol.asyncDispose]()
      await containerd.remove()
      const cgroups = openCgroups({ root: cgroupRoot, everyHierarchy: true })
      while (!(await cgroups.remove(''))) {
        cgroups.kill('')
        await systemClock.sleep(20)
      }
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** For a kubelet: a machine that is made when the runtime starts. */
export function containerdNode() {
  let machine: ContainerdMachine | undefined
  return {
    get cgroupRoot() {
      return machine?.cgroupRoot ?? ''
    },
    async start(): Promise<ContainerRuntime> {
      machine = await containerdMachine()
      return machine.startRuntime()
    },
    /** Mounts, network namespaces and cgroups of pods. */
    leftovers(): string[] {
      const { cgroupRoot = '', dir = '' } = machine ?? {}
      const state = /^state = "(.*)"/m.exec(readFileSync(path.join(dir, 'containerd', 'config.toml'), 'utf8'))![1]!
      const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
      const pods = ['pids', 'devices', 'memory'].flatMap((name) =>
        podGroups(`/sys/fs/cgroup/${name}${cgroupRoot}/kubepods`),
      )
      return [...mounts.filter((line) => line.includes(state)), ...pods]
    },
    async [Symbol.asyncDispose]() {
      await machine?.[Symbol.asyncDispose]()
    },
  }
}

function podGroups(root: string): string[] {
  const groups = readdirSync(root, { recursive: true, withFileTypes: true })
  return groups.filter((entry) => entry.isDirectory() && entry.name.startsWith('pod')).map(({ name }) => name)
}

export function writeBusyboxArchive(dir: string, name = CONTAINERD_IMAGE): string {
  const root = path.join(dir, 'busybox')
  mkdirSync(root)
  makeBusyboxRoot(root)
  const file = path.join(dir, 'busybox.tar')
  writeFileSync(file, ociArchive(name, folderEntries(root), BUSYBOX_CONFIG, ownArchitecture()))
  return file
}
