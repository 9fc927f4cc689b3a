/** A runtime that runs elsewhere on this machine, behind a socket that speaks CRI v1: containerd, CRI-O. */
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Images } from './all-images.ts'
import { Connection } from './cri/connection.ts'
import { CriRuntime } from './cri/cri-runtime.ts'
import { isUnimplemented } from './cri/errors.ts'
import { CriEvents } from './cri/events.ts'
import { HostImageOnCri } from './cri/host-image.ts'
import { CriImages, type ImportArchive } from './cri/images.ts'
import { CGROUP_DRIVER_SYSTEMD } from './cri/messages/runtime.ts'
import { METHOD } from './cri/methods.ts'
import { podCgroups } from './cri/pod-cgroups.ts'
import { type ContainerRuntime, RuntimeError } from './runtime.ts'

export type { ImportArchive } from './cri/images.ts'

export interface CriRuntimeOptions {
  /** The path of the socket, also as `unix:///…`. */
  readonly socket: string
  readonly clock: Clock
  readonly log: Logger
  /** All cgroups of pods are below this one, where names are paths (cgroupfs). */
  readonly cgroupRoot?: string
  readonly importArchive?: ImportArchive
  /** Names of images that must not be collected. */
  readonly pinned?: readonly string[]
  /** The host image, where archives can be imported. */
  readonly hostImage?: Images
}

/** Milliseconds in which a runtime has to answer at all. */
const PATIENCE = 10_000

/** What runs there already is found by lists. Disposing lets go of it. */
export async function startCriRuntime(options: CriRuntimeOptions): Promise<ContainerRuntime> {
  const { clock, importArchive, cgroupRoot = '' } = options
  const log = options.log.child({ component: 'container-runtime' })
  const socket = options.socket.replace(/^unix:(\/\/)?/, '')
  const connection = new Connection(await import('@grpc/grpc-js'), socket, clock)
  try {
    await connection.call(METHOD.version, {}, { timeout: PATIENCE })
    const systemd = await usesSystemd(connection)
    const cgroups = podCgroups({ root: cgroupRoot, systemd, pause: (time) => clock.sleep(time) })
    const events = await CriEvents.start({ connection, clock, log })
    const images = new CriImages(connection, importArchive, options.pinned)
    const parts = { connection, events, cgroups, clock }
    if (!options.hostImage) return new CriRuntime({ ...parts, images })
    const host = new HostImageOnCri(images, options.hostImage)
    return new CriRuntime({ ...parts, images: host, complete: (config, sandbox) => host.complete(config, sandbox) })
  } catch (error) {
    connection.close()
    if (!(error instanceof RuntimeError)) throw error
    throw new RuntimeError(error.code, `no CRI v1 runtime answers at ${socket}: ${error.message}`, { cause: error })
  }
}

/** Older runtimes do not say; with them it is cgroupfs. */
async function usesSystemd(connection: Connection): Promise<boolean> {
  try {
    const { linux } = await connection.call(METHOD.runtimeConfig, {})
    return linux !== undefined && (linux.cgroup_driver ?? CGROUP_DRIVER_SYSTEMD) === CGROUP_DRIVER_SYSTEMD
  } catch (error) {
    if (isUnimplemented(error)) return false
    throw error
  }
}
