/**
 * The host image, `sampan.local/host`: no layers from a registry, but the host's own programs, read-only. A developer runs
 * `node server.js` as a pod with nothing to build. Only what is listed here is seen of the host, and it fits only pods of
 * the machine it runs on: for development.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { Mount } from './container-config.ts'
import type { ImageContent, ImageContents } from './image-content.ts'
import type { Image, ImageService } from './image-service.ts'
import { RuntimeError } from './runtime.ts'

export const HOST_IMAGE = 'sampan.local/host'
/** A folder of the host that the pod sees at /app. */
export const HOST_PATH_ANNOTATION = 'sampan.dev/host-path'

const ID = `sha256:${createHash('sha256').update(HOST_IMAGE).digest('hex')}`
const TAG = `${HOST_IMAGE}:latest`
const PROGRAMS = ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32']
const FOLDERS = ['tmp', 'var/tmp', 'run', 'root', 'home', 'app', 'usr', 'etc', 'proc', 'sys', 'dev']
const COPIED = ['ld.so.cache', 'ld.so.conf', 'nsswitch.conf', 'localtime', 'protocols', 'services']
const BOUND = ['/etc/ssl', '/etc/alternatives', '/etc/ca-certificates', '/etc/pki']
const PASSWD = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'
const GROUP = 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n'

/** Makes the skeleton the containers' roots are based on in `folder`. */
export function hostImage(folder: string): ImageService & ImageContents {
  const skeleton = path.join(folder, 'host-image')
  let made = false
  const image: Image = { id: ID, repoTags: [TAG], repoDigests: [`${HOST_IMAGE}@${ID}`], size: 0, pinned: true }
  const isOurs = (reference: string) => [HOST_IMAGE, TAG, ID, `${HOST_IMAGE}@${ID}`].includes(reference)
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
    fsInfo: async () => ({ mountpoint: folder, usedBytes: 0, inodesUsed: 0 }),
    async content(imageId, annotations) {
      if (!isOurs(imageId)) throw new RuntimeError('NotFound', `image "${imageId}" not found`)
      if (!made) makeSkeleton(skeleton)
      made = true
      return contentOf(skeleton, annotations[HOST_PATH_ANNOTATION])
    },
  }
}

function contentOf(skeleton: string, app: string | undefined): ImageContent {
  const mounts = [...programMounts(), ...BOUND.filter((folder) => existsSync(folder)).map(bind)]
  if (app !== undefined) mounts.push(appMount(app))
  const search = [...new Set([path.dirname(realpathSync(process.execPath)), ...DEFAULT_PATH])].join(':')
  return {
    layers: [skeleton],
    mounts,
    config: {
      user: '',
      env: [`PATH=${search}`],
      entrypoint: [],
      command: ['/bin/sh'],
      workingDir: app === undefined ? '/' : '/app',
      stopSignal: '',
    },
  }
}

const DEFAULT_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

function appMount(app: string): Mount {
  if (!path.isAbsolute(app) || !existsSync(app))
    throw new RuntimeError('InvalidArgument', `annotation ${HOST_PATH_ANNOTATION}: no folder ${app} on this node`)
  return { containerPath: '/app', hostPath: app, readonly: true, recursiveReadonly: true, propagation: 'PRIVATE' }
}

const bind = (folder: string): Mount => ({
  containerPath: folder,
  hostPath: folder,
  readonly: true,
  recursiveReadonly: true,
  propagation: 'PRIVATE',
})

/** /usr, the folders beside it where they are no links into it, and Node where it is installed elsewhere. */
function programMounts(): Mount[] {
  const mounts = [bind('/usr')]
  for (const name of PROGRAMS) if (isFolder(`/${name}`)) mounts.push(bind(`/${name}`))
  const node = path.dirname(path.dirname(realpathSync(process.execPath)))
  if (!node.startsWith('/usr/') && node !== '/usr' && node !== '/') mounts.push(bind(node))
  return mounts
}

function makeSkeleton(skeleton: string): void {
  rmSync(skeleton, { recursive: true, force: true })
  for (const folder of FOLDERS) {
    const mode = folder.endsWith('tmp') ? 0o1777 : 0o755
    mkdirSync(path.join(skeleton, folder), { recursive: true, mode: 0o755 })
    if (mode !== 0o755) chmodSync(path.join(skeleton, folder), mode)
  }
  for (const name of PROGRAMS) copyLink(`/${name}`, path.join(skeleton, name))
  for (const name of COPIED) copyFile(path.join('/etc', name), path.join(skeleton, 'etc', name))
  writeFileSync(path.join(skeleton, 'etc', 'passwd'), PASSWD)
  writeFileSync(path.join(skeleton, 'etc', 'group'), GROUP)
}

function isFolder(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function copyLink(from: string, to: string): void {
  if (lstatSync(from, { throwIfNoEntry: false })?.isSymbolicLink()) symlinkSync(readlinkSync(from), to)
}

function copyFile(from: string, to: string): void {
  if (existsSync(from)) writeFileSync(to, readFileSync(from))
}
