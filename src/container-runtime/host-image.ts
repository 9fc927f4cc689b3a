/**
 * The host image, `sampan.local/host`: no layers from a registry, but the host's own programs, read-only. A developer runs
 * `node server.js` as a pod with nothing to build. `host-image/visible-paths.ts` lists what it shows of the host, and only what
 * every user of the host may read. It fits only pods of the machine it runs on: for development.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { HOST_PATH_ANNOTATION, hostPathOf } from '../api/kinds/core/pod/host-paths.ts'
import type { SyscallAgents } from '../linux/syscall-agent.ts'
import type { Mount } from './container-config.ts'
import { mountReadableByAll, readIfPublic } from './host-image/readable-by-all.ts'
import { COPIED_FILES, executableFolder, PROGRAM_FOLDERS, visiblePaths } from './host-image/visible-paths.ts'
import type { ImageContent, ImageContents } from './image-content.ts'
import type { Image, ImageService } from './image-service.ts'
import { RuntimeError } from './runtime.ts'

export const HOST_IMAGE = 'sampan.local/host'

const ID = `sha256:${createHash('sha256').update(HOST_IMAGE).digest('hex')}`
const TAG = `${HOST_IMAGE}:latest`
const FOLDERS = ['tmp', 'var/tmp', 'run', 'root', 'home', 'app', 'usr', 'etc', 'proc', 'sys', 'dev']
const PASSWD = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'
const GROUP = 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n'
const DEFAULT_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

export interface HostImageOptions {
  /** Where the skeleton that containers' roots are based on is made. */
  readonly folder: string
  /** By which root mounts what all may read below `treesFolder`. Without root, containers read what this user may. */
  readonly mounting?: { readonly agents: SyscallAgents; readonly treesFolder: string }
  /** Whether pods may name a folder of the host by the annotation `sampan.dev/host-path`. */
  readonly allowHostPath?: boolean
}

export function hostImage(options: HostImageOptions): ImageService & ImageContents {
  const skeleton = path.join(options.folder, 'host-image')
  const image: Image = { id: ID, repoTags: [TAG], repoDigests: [`${HOST_IMAGE}@${ID}`], size: 0, pinned: true }
  const isOurs = (reference: string) => [HOST_IMAGE, TAG, ID, `${HOST_IMAGE}@${ID}`].includes(reference)
  let prepared: Promise<readonly Mount[]> | undefined
  const prepare = async () => {
    makeSkeleton(skeleton)
    return programMounts(options)
  }
  return {
    list: async () => [image],
    status: async (reference) => (isOurs(reference) ? image : undefined),
    async pull(reference) {
      if (isOurs(reference)) return image
      throw new RuntimeError('NotFound', `failed to pull "${reference}": not the host image`, {
        reason: 'ErrImagePull',
      })
    },
    async remove() {},
    async import(file) {
      throw new RuntimeError('Unimplemented', `the host image cannot be imported: ${file}`)
    },
    fsInfo: async () => ({ mountpoint: options.folder, usedBytes: 0, inodesUsed: 0 }),
    async content(imageId, annotations) {
      if (!isOurs(imageId)) throw new RuntimeError('NotFound', `image "${imageId}" not found`)
      prepared ??= prepare()
      prepared.catch(() => {
        prepared = undefined
      })
      const app = hostPathOf(annotations)
      const own = app === undefined ? [] : [appMount(app, options.allowHostPath ?? false)]
      return contentOf(skeleton, [...(await prepared), ...own])
    },
  }
}

function contentOf(skeleton: string, mounts: readonly Mount[]): ImageContent {
  const search = [...new Set([executableFolder(), ...DEFAULT_PATH])].join(':')
  return {
    layers: [skeleton],
    mounts,
    config: {
      user: '',
      env: [`PATH=${search}`],
      entrypoint: [],
      command: ['/bin/sh'],
      workingDir: mounts.some(({ containerPath }) => containerPath === APP) ? APP : '/',
      stopSignal: '',
    },
  }
}

const APP = '/app'

function appMount(app: string, isAllowed: boolean): Mount {
  const refuse = (problem: string) =>
    new RuntimeError('InvalidArgument', `annotation ${HOST_PATH_ANNOTATION}: ${problem}`)
  if (!isAllowed) throw refuse('this node does not allow it; start the node with --allow-host-path')
  if (!path.isAbsolute(app) || !existsSync(app)) throw refuse(`no folder ${app} on this node`)
  return readonlyMount(app, APP)
}

const readonlyMount = (hostPath: string, containerPath: string): Mount => ({
  containerPath,
  hostPath,
  readonly: true,
  recursiveReadonly: true,
  propagation: 'PRIVATE',
})

async function programMounts({ mounting }: HostImageOptions): Promise<readonly Mount[]> {
  const sources = visiblePaths()
  const places = mounting && (await mountReadableByAll(mounting.agents, sources, mounting.treesFolder))
  return sources.map((source) => readonlyMount(places?.get(source) ?? source, source))
}

function makeSkeleton(skeleton: string): void {
  rmSync(skeleton, { recursive: true, force: true })
  for (const folder of FOLDERS) {
    const mode = folder.endsWith('tmp') ? 0o1777 : 0o755
    mkdirSync(path.join(skeleton, folder), { recursive: true, mode: 0o755 })
    if (mode !== 0o755) chmodSync(path.join(skeleton, folder), mode)
  }
  for (const name of PROGRAM_FOLDERS) copyLink(`/${name}`, path.join(skeleton, name))
  for (const name of COPIED_FILES) copyFile(path.join('/etc', name), path.join(skeleton, 'etc', name))
  writeFileSync(path.join(skeleton, 'etc', 'passwd'), PASSWD)
  writeFileSync(path.join(skeleton, 'etc', 'group'), GROUP)
}

function copyLink(from: string, to: string): void {
  if (lstatSync(from, { throwIfNoEntry: false })?.isSymbolicLink()) symlinkSync(readlinkSync(from), to)
}

function copyFile(from: string, to: string): void {
  const content = readIfPublic(from)
  if (!content) return
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o755 })
  writeFileSync(to, content)
}
