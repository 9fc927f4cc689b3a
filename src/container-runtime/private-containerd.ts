/** A containerd of our own, beside any other on the machine: own state, own images, pods on our pod network. */
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { pauseExecutable } from '../linux/pause-program.ts'
import { ownArchitecture } from '../linux/syscall-numbers.ts'
import { findProgram, missingPrograms } from './containerd-programs.ts'
import { Connection } from './cri/connection.ts'
import { serveCni, writeCniPlugin } from './cri/containerd/cni-plugin.ts'
import {
  type ContainerdPlaces,
  containerdConfiguration,
  containerdPlaces,
  PAUSE_IMAGE,
} from './cri/containerd/configuration.ts'
import { importArchive } from './cri/containerd/import-archive.ts'
import { clearState } from './cri/containerd/left-behind.ts'
import { ociArchive } from './cri/containerd/oci-archive.ts'
import { ContainerdProcess, stopContainerd } from './cri/containerd/process.ts'
import { METHOD } from './cri/methods.ts'
import { type ImportArchive, startCriRuntime } from './cri-runtime.ts'
import type { ContainerRuntime } from './runtime.ts'
import type { SandboxNetwork } from './sandbox-network.ts'

export interface PrivateContainerdOptions {
  /** Its images and records; one containerd at a time. */
  readonly dir: string
  readonly network: SandboxNetwork
  readonly clock: Clock
  readonly log: Logger
  /** All its processes and pods are below this cgroup. */
  readonly cgroupRoot: string
  /** Starts the program; for a node that is a namespace of this process, in there. */
  readonly start?: (start: () => ChildProcess) => ChildProcess
}

/** Disposing leaves it running, for the next process to find. */
export interface PrivateContainerd extends AsyncDisposable {
  /** Where it speaks CRI. */
  readonly socket: string
  readonly importArchive: ImportArchive
  /** Images it cannot do without. */
  readonly pinned: readonly string[]
  /** Ends it, once its pods are gone. */
  remove(): Promise<void>
}

const PATIENCE = 30_000
const INTERVAL = 50

/** Images of the containerd in `dir`, which some other process has started. Disposing lets go of it. */
export async function connectPrivateContainerd(dir: string, clock: Clock, log: Logger): Promise<ContainerRuntime> {
  const { socket } = places(dir)
  const bring: ImportArchive = (archive) => importArchive(findProgram('ctr') ?? 'ctr', socket, archive)
  return startCriRuntime({ socket, importArchive: bring, pinned: [PAUSE_IMAGE], clock, log })
}

/** Adopts the containerd that an earlier process left, if it still runs. */
export async function startPrivateContainerd(options: PrivateContainerdOptions): Promise<PrivateContainerd> {
  const { dir, network, clock, cgroupRoot } = options
  const log = options.log.child({ component: 'containerd' })
  const missing = missingPrograms()
  if (missing.length > 0) throw new Error(`not installed here: ${missing.join(', ')}`)
  const own = places(dir)
  for (const folder of [dir, own.root, own.state]) await mkdir(folder, { recursive: true, mode: 0o711 })
  await mkdir(own.registries, { recursive: true })
  const configuration = path.join(dir, 'config.toml')
  await writeFile(configuration, containerdConfiguration(own), { mode: 0o600 })
  await writeCniPlugin(own)
  const cni = await serveCni(own.cniSocket, network, log)
  const daemon = new ContainerdProcess({
    program: findProgram('containerd')!,
    configuration,
    logPath: path.join(dir, 'containerd.log'),
    claimPath: claimPath(dir),
    cgroupRoot,
    start: options.start,
    clock,
    log,
  })
  const bring: ImportArchive = (archive) => importArchive(findProgram('ctr')!, own.socket, archive)
  const release = async () => {
    daemon.release()
    await cni[Symbol.asyncDispose]()
  }
  try {
    await daemon.start()
    await prepared(own, daemon, bring, clock)
  } catch (error) {
    await release()
    throw error
  }
  return {
    socket: own.socket,
    importArchive: bring,
    pinned: [PAUSE_IMAGE],
    async remove() {
      await daemon.stop()
      await cni[Symbol.asyncDispose]()
      await clearState(own.state)
    },
    [Symbol.asyncDispose]: release,
  }
}

/** For a containerd whose node is gone: its pods must have ended. */
export async function clearPrivateContainerd(dir: string, clock: Clock): Promise<void> {
  await stopContainerd(claimPath(dir), clock)
  await clearState(places(dir).state)
}

const claimPath = (dir: string) => path.join(dir, 'containerd.json')

function places(dir: string): ContainerdPlaces {
  const id = createHash('sha256').update(path.resolve(dir)).digest('hex').slice(0, 12)
  return containerdPlaces(path.resolve(dir), `/run/sampan-containerd-${id}`)
}

/** It answers, and has the image that every pod begins with. */
async function prepared(
  { socket }: ContainerdPlaces,
  daemon: ContainerdProcess,
  bring: ImportArchive,
  clock: Clock,
): Promise<void> {
  const connection = new Connection(await import('@grpc/grpc-js'), socket, clock)
  const hasPause = async () => {
    const { image } = await connection.call(
      METHOD.imageStatus,
      { image: { image: PAUSE_IMAGE } },
      { timeout: PATIENCE },
    )
    return image !== undefined
  }
  const until = async (what: string, isDone: () => Promise<boolean>) => {
    for (const end = clock.now() + PATIENCE; !(await isDone().catch(() => false)); await clock.sleep(INTERVAL)) {
      if (clock.now() > end || !daemon.isAlive) throw new Error(`${what}: ${await daemon.lastWords()}`)
    }
  }
  try {
    await until('containerd does not answer', () =>
      connection.call(METHOD.status, {}, { timeout: 1000 }).then(() => true),
    )
    if (await hasPause()) return
    await importPause(bring)
    await until('containerd does not take images', hasPause)
  } finally {
    connection.close()
  }
}

async function importPause(bring: ImportArchive): Promise<void> {
  const architecture = ownArchitecture()
  const layer = [{ name: 'pause', mode: 0o755, content: pauseExecutable(architecture) }]
  const config = { user: '', env: [], entrypoint: ['/pause'], command: [], workingDir: '/', stopSignal: '' }
  const folder = await mkdtemp(path.join(tmpdir(), 'sampan-pause-'))
  try {
    const file = path.join(folder, 'pause.tar')
    await writeFile(file, ociArchive(PAUSE_IMAGE, layer, config, architecture))
    await bring(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
