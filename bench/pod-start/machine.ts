import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import { startCriRuntime } from '../../src/container-runtime/cri-runtime.ts'
import { startPrivateContainerd } from '../../src/container-runtime/private-containerd.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import type { SandboxNetwork } from '../../src/container-runtime/sandbox-network.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import { linuxIn } from '../../src/linux/linux-in.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import { BridgePodNetwork } from '../../src/pod-network/bridge/bridge-pod-network.ts'
import { SandboxRecords } from '../../src/pod-network/sandboxes/sandbox-records.ts'
import { BUSYBOX_IMAGE, folderImages } from '../../tests/container-runtime/busybox-image.ts'
import { CONTAINERD_IMAGE, writeBusyboxArchive } from '../../tests/container-runtime/containerd-under-test.ts'

interface Side {
  readonly runtime: ContainerRuntime
  readonly image: { readonly image: string; readonly imageId: string }
}

/** Both runtimes in one network namespace, and all their processes and this one in one cgroup. */
export interface PodStartMachine extends AsyncDisposable {
  readonly builtin: Side
  readonly containerd: Side
  readonly logDirectory: string
  readonly cgroupRoot: string
}

const PLUGINS = '/usr/lib/cni'

export async function podStartMachine(): Promise<PodStartMachine> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-pod-start-'))
  const cgroupRoot = `/sampan-bench-${process.pid}`
  const cgroups = openCgroups({ root: cgroupRoot, everyHierarchy: true })
  await cgroups.create('/this', {})
  await cgroups.join('/this', process.pid)
  const linux = kernelLinux()
  const namespace = linux.namespaces.create(`bench-start-${process.pid}`)
  const common = { clock: systemClock, log: silentLogger, cgroupRoot }
  const archive = writeBusyboxArchive(folder)

  const network = await bridgeNetwork(linuxIn(linux, namespace), folder)
  const images = folderImages({ [BUSYBOX_IMAGE]: [path.join(folder, 'busybox')] })
  const builtin = await startBuiltinRuntime({ ...common, stateDir: path.join(folder, 'builtin'), network, images })

  const dir = path.join(folder, 'containerd')
  const containerd = await startPrivateContainerd({
    ...common,
    dir,
    network,
    start: (start) => linux.namespaces.inNamespace(namespace, start),
  })
  useDebianPlugins(dir)
  const cri = await startCriRuntime({ ...common, ...containerd })
  const [imported] = await cri.images.import(archive)

  return {
    builtin: { runtime: builtin, image: { image: BUSYBOX_IMAGE, imageId: BUSYBOX_IMAGE } },
    containerd: { runtime: cri, image: { image: CONTAINERD_IMAGE, imageId: imported!.id } },
    logDirectory: path.join(folder, 'logs'),
    cgroupRoot,
    async [Symbol.asyncDispose]() {
      for (const runtime of [builtin, cri]) {
        for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id)
        await runtime[Symbol.asyncDispose]()
      }
      await containerd.remove()
      await openCgroups().join('', process.pid)
      await cgroups.remove('')
      namespace[Symbol.dispose]()
      linux.namespaces.delete(namespace.name)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function bridgeNetwork(linux: Linux, folder: string): Promise<SandboxNetwork> {
  linux.openRtnetlink().changeLink(LOOPBACK_INDEX, { up: true })
  const records = new SandboxRecords(path.join(folder, 'network'))
  const common = { linux, records, log: silentLogger, clock: systemClock }
  const network = new BridgePodNetwork({ ...common, bridge: 'cni0', clusterCIDRs: ['10.244.0.0/16'] })
  await network.configure({ podCIDRs: ['10.244.1.0/24'], mtu: 1500, uplink: 'lo' })
  return {
    async attach({ sandboxId, metadata: { namespace, name, uid } }) {
      const { netnsPath, addresses } = await network.attach({ sandboxId, namespace, name, uid })
      return { netnsPath, ips: addresses }
    },
    detach: (sandboxId) => network.detach(sandboxId),
  }
}

/** As on any machine with containerd: bridge, host-local and loopback of Debian's package, in place of our plugin. */
function useDebianPlugins(dir: string): void {
  const [plugins, configuration] = [path.join(dir, 'cni', 'bin'), path.join(dir, 'cni', 'net.d')]
  rmSync(plugins, { recursive: true })
  mkdirSync(plugins)
  for (const name of readdirSync(PLUGINS)) symlinkSync(path.join(PLUGINS, name), path.join(plugins, name))
  const ipam = { type: 'host-local', dataDir: path.join(dir, 'leases'), subnet: '10.245.1.0/24' }
  const bridge = { type: 'bridge', bridge: 'cni1', isGateway: true, hairpinMode: true, ipam }
  const list = { cniVersion: '1.0.0', name: 'bench', plugins: [bridge] }
  writeFileSync(path.join(configuration, '10-sampan.conflist'), JSON.stringify(list))
}
