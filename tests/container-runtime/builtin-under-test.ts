import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statfsSync } from 'node:fs'
import { release, tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import type { ImageContents } from '../../src/container-runtime/image-content.ts'
import type { ImageService } from '../../src/container-runtime/image-service.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import type { SandboxNetwork } from '../../src/container-runtime/sandbox-network.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { BUSYBOX_IMAGE, folderImages, makeBusyboxRoot } from './busybox-image.ts'

/** A network namespace with loopback and nothing else, whatever address it is said to have. */
export function loopbackNetwork(address = '127.0.0.1'): SandboxNetwork {
  const { namespaces, openRtnetlink } = kernelLinux()
  const nameOf = (id: string) => `sampan-test-${id.slice(0, 16)}`
  return {
    async attach({ sandboxId, netnsPath }) {
      const name = nameOf(sandboxId)
      const namespace = netnsPath === undefined ? namespaces.create(name) : namespaces.adopt(name, netnsPath)
      const network = openRtnetlink(namespace)
      network.changeLink(network.link('lo')!.index, { up: true })
      network[Symbol.dispose]()
      namespace[Symbol.dispose]()
      return { netnsPath: `/run/netns/${name}`, ips: [address] }
    },
    async detach(sandboxId) {
      if (namespaces.list().includes(nameOf(sandboxId))) namespaces.delete(nameOf(sandboxId))
    },
  }
}

const IDMAPPED_FILE_SYSTEMS = [0xef53, 0x01021994, 0x58465342, 0x9123683e]

/** Owners can be mapped on ext4, tmpfs, XFS and Btrfs; on tmpfs since Linux 6.3. */
export function mapsOwners(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return (major > 6 || (major === 6 && minor >= 3)) && IDMAPPED_FILE_SYSTEMS.includes(statfsSync(tmpdir()).type)
}

const cgroupRoot = `/sampan-test-${process.pid}`

export interface BuiltinMachine extends AsyncDisposable {
  readonly stateDir: string
  readonly cgroupRoot: string
  readonly logDirectory: string
  /** The folder of the busybox image. */
  readonly root: string
  /** Processes, mounts and cgroups that are still there. */
  leftovers(): string[]
  readonly images: ImageService & ImageContents
  start(): Promise<ContainerRuntime>
}

let machines = 0

/** A state folder, a cgroup and images of its own; everything is gone afterwards. */
export function builtinMachine(
  more: (folder: string) => Readonly<Record<string, readonly string[]>> = () => ({}),
  podIP?: string,
): BuiltinMachine {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-builtin-'))
  const root = path.join(folder, 'busybox')
  mkdirSync(root)
  makeBusyboxRoot(root)
  const images = folderImages({ [BUSYBOX_IMAGE]: [root], ...more(folder) })
  const stateDir = path.join(folder, 'state')
  const group = `${cgroupRoot}-${machines++}`
  return {
    stateDir,
    cgroupRoot: group,
    logDirectory: path.join(folder, 'logs'),
    root,
    leftovers: () => leftovers(stateDir, group),
    images,
    start: () =>
      startBuiltinRuntime({
        stateDir,
        images,
        network: loopbackNetwork(podIP),
        clock: systemClock,
        log: silentLogger,
        cgroupRoot: group,
      }),
    async [Symbol.asyncDispose]() {
      const cgroups = openCgroups({ root: group, everyHierarchy: true })
      while (!(await cgroups.remove(''))) {
        cgroups.kill('')
        await systemClock.sleep(20)
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function leftovers(stateDir: string, group: string): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const folders = ['sandboxes', 'containers'].flatMap((name) => readdirSync(path.join(stateDir, name)))
  return [
    ...openCgroups({ root: group })
      .processes('')
      .map((pid) => `process ${pid}`),
    ...mounts.filter((line) => line.includes(stateDir)).map((line) => `mount ${line}`),
    ...folders.map((name) => `folder ${name}`),
    ...processesWith(stateDir),
  ]
}

/** Agents that hold a file of the runtime: shims and those who wait in sandboxes. */
function processesWith(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => descriptorsOf(pid).some((file) => file.startsWith(folder)))
    .map((pid) => `process ${pid} holds a file`)
}

function descriptorsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
  } catch {
    return []
  }
}
