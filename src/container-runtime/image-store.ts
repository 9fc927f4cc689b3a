/** Images of registries and archives, unpacked in a folder that several processes may share. */
import fs from 'node:fs'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { removeTree } from '../linux/remove-tree.ts'
import type { AgentChannel } from '../linux/syscall-agent.ts'
import { DEFAULT_LIMITS, type ImageLimits } from './images/limits.ts'
import { ownPlatform, type Platform } from './images/platform.ts'
import type { RegistryOptions } from './images/registry/endpoints.ts'
import { ImageIndex } from './images/store/image-index.ts'
import { ImageStore } from './images/store/image-store.ts'
import { Layers } from './images/store/layers.ts'
import { StoreFolder } from './images/store/store-folder.ts'
import { clearLeft } from './images/store/sweep.ts'
import { filesByAgent, type PrivilegedFiles, S_IFCHR } from './images/unpack/privileged-files.ts'

export type { ImageLimits } from './images/limits.ts'
export type { Platform } from './images/platform.ts'
export { parseReference } from './images/reference.ts'
export type { RegistryOptions } from './images/registry/endpoints.ts'
export type { ImageStore } from './images/store/image-store.ts'
export type { PrivilegedFiles } from './images/unpack/privileged-files.ts'

export interface ImageStoreOptions {
  readonly dir: string
  readonly clock: Clock
  readonly log: Logger
  /** Makes device nodes and extended attributes, which Node cannot. Without, layers are copies of each other. */
  readonly agent?: AgentChannel
  /** Instead of the agent. */
  readonly files?: PrivilegedFiles
  /** We are root in a user namespace: overlay keeps its marks in attributes of the user. */
  readonly rootless?: boolean
  readonly platform?: Platform
  /** Besides what the file `registries.json` of the store's folder says. */
  readonly registries?: RegistryOptions
  readonly limits?: Partial<ImageLimits>
  /** Milliseconds without a byte from a registry, until another attempt. */
  readonly stallTimeout?: number
  /** Names of images that must not be collected. */
  readonly pinned?: readonly string[]
  /** Ids of images that containers use. Without, nothing is ever taken away: the process that knows does it. */
  readonly inUse?: () => Promise<Iterable<string>>
}

const STALL_TIMEOUT = 30_000

/** Clears what processes that were killed have left. */
export async function openImageStore(options: ImageStoreOptions): Promise<ImageStore> {
  const { dir, clock, log, agent, rootless = false, platform = ownPlatform() } = options
  const folder = new StoreFolder(dir, clock)
  await clearLeft(folder)
  const files = options.files ?? (agent ? filesByAgent(agent) : nothingPrivileged)
  const opaqueAttribute = rootless ? 'user.overlay.opaque' : 'trusted.overlay.opaque'
  const flat = !(await canMark(folder, files, opaqueAttribute))
  if (flat) log.warn('overlay marks are not permitted here; each layer of an image holds those below it')
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  return new ImageStore({
    folder,
    index: new ImageIndex(folder),
    layers: new Layers({ folder, files, limits, flat, opaqueAttribute }),
    clock,
    log,
    limits,
    platform,
    registries: combined(registriesIn(dir), options.registries ?? {}),
    stallTimeout: options.stallTimeout ?? STALL_TIMEOUT,
    pinned: options.pinned ?? [],
    inUse: options.inUse,
  })
}

const forbidden = async () => {
  throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
}
const nothingPrivileged: PrivilegedFiles = { mknod: forbidden, setxattr: forbidden }

async function canMark(folder: StoreFolder, files: PrivilegedFiles, opaqueAttribute: string): Promise<boolean> {
  const lease = folder.lease()
  try {
    await files.mknod(path.join(lease, 'whiteout'), S_IFCHR, 0, 0)
    await files.setxattr(lease, opaqueAttribute, Buffer.from('y'))
    return true
  } catch {
    return false
  } finally {
    await removeTree(lease)
  }
}

const combined = (a: RegistryOptions, b: RegistryOptions): RegistryOptions => ({
  ...a,
  ...b,
  insecure: [...(a.insecure ?? []), ...(b.insecure ?? [])],
})

/** A file of the user's: `{ "mirrors": { "docker.io": ["https://…"] }, "insecure": ["10.0.0.5:5000"] }`. */
function registriesIn(dir: string): RegistryOptions {
  const file = path.join(dir, 'registries.json')
  if (!fs.existsSync(file)) return {}
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as RegistryOptions
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
}
