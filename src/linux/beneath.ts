/**
 * Files beneath a folder whose content a pod or an image controls.
 *
 * A path is resolved in one system call that never leaves the folder, and the result is a descriptor. From then on the
 * descriptor is used, never the path: what the path leads to may be another file a moment later. Node's own functions
 * work on `Opened.path`, which is the descriptor as a path, and on `entryOf`, which is one name in an open folder.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { fileCalls } from './ffi.ts'
import { AT_FDCWD, O } from './mounts.ts'
import { checked, hasCode } from './system-error.ts'

export interface BeneathOptions {
  /** Of open(2). */
  readonly flags: number
  /** `refuse` fails with ELOOP at the first link; `follow` fails with EXDEV at one that leads out of the folder. */
  readonly links?: 'refuse' | 'follow'
  /** Fails with EXDEV where another file system or a bind mount begins. */
  readonly refuseMounts?: boolean
}

/** A descriptor that is closed when it is disposed. */
export class Opened implements Disposable {
  readonly descriptor: number
  #isOpen = true

  constructor(descriptor: number) {
    this.descriptor = descriptor
  }

  /** The very file that was opened, for functions that take a path. */
  get path(): string {
    return `/proc/self/fd/${this.descriptor}`
  }

  /** The same for another process of this user. */
  get pathForOthers(): string {
    return `/proc/${process.pid}/fd/${this.descriptor}`
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) fileCalls().close(this.descriptor)
    this.#isOpen = false
  }
}

/** A place on disk without the right to read or write what is there. */
export const O_PLACE = O.PATH | O.CLOEXEC
export const O_FOLDER = O_PLACE | constants.O_DIRECTORY

const RESOLVE_NO_XDEV = 0x01
const RESOLVE_NO_MAGICLINKS = 0x02
const RESOLVE_NO_SYMLINKS = 0x04
const RESOLVE_BENEATH = 0x08
/** The kernel gives up if something is renamed while it follows a `..`. */
const ATTEMPTS = 100

const ANYWHERE = openHow(O_FOLDER, 0)

/** Opens a folder by a path that only the node or its administrator controls. */
export function openFolderNow(path: string): Opened {
  return new Opened(checked(fileCalls().openat2(AT_FDCWD, terminated(path), ANYWHERE), `open ${path}`))
}

/** The same, on a thread of its own. */
export async function openFolder(path: string): Promise<Opened> {
  return new Opened(checked(await fileCalls().openat2Async(AT_FDCWD, terminated(path), ANYWHERE), `open ${path}`))
}

export async function openBeneath(folder: number, path: string | Uint8Array, options: BeneathOptions): Promise<Opened> {
  const [name, how] = [terminated(path), howOf(options)]
  for (let attempt = 1; ; attempt++) {
    const result = await fileCalls().openat2Async(folder, name, how)
    if (result >= 0) return new Opened(result)
    if (!isRetried(result, attempt)) checked(result, `open ${quoted(path)}`)
  }
}

/** Blocks until it is done: for folders of the node's own disk. */
export function openBeneathNow(folder: number, path: string, options: BeneathOptions): Opened {
  const [name, how] = [terminated(path), howOf(options)]
  for (let attempt = 1; ; attempt++) {
    const result = fileCalls().openat2(folder, name, how)
    if (result >= 0) return new Opened(result)
    if (!isRetried(result, attempt)) checked(result, `open ${quoted(path)}`)
  }
}

const EAGAIN = -11
const isRetried = (result: number, attempt: number) => result === EAGAIN && attempt < ATTEMPTS

const quoted = (path: string | Uint8Array) => JSON.stringify(Buffer.from(path).toString())

function howOf({ flags, links = 'refuse', refuseMounts = false }: BeneathOptions): Buffer {
  const ofLinks = links === 'refuse' ? RESOLVE_NO_SYMLINKS : 0
  const ofMounts = refuseMounts ? RESOLVE_NO_XDEV : 0
  return openHow(flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | ofLinks | ofMounts)
}

/** The kernel's struct open_how: flags, mode, resolve. */
function openHow(flags: number, resolve: number): Buffer {
  const how = Buffer.alloc(24)
  how.writeBigUInt64LE(BigInt(flags | O.CLOEXEC), 0)
  how.writeBigUInt64LE(BigInt(resolve), 16)
  return how
}

function terminated(path: string | Uint8Array): Buffer {
  const bytes = Buffer.from(path)
  if (bytes.includes(0)) throw new Error(`the path ${quoted(path)} has a NUL`)
  return Buffer.concat([bytes, Buffer.alloc(1)])
}

/** Opens a plain file for reading; undefined where there is none. A pipe or a device is never opened. */
export async function openFileBeneath(
  folder: number,
  path: string,
  links: BeneathOptions['links'] = 'refuse',
): Promise<FileHandle | undefined> {
  try {
    using place = await openBeneath(folder, path, { flags: O_PLACE, links })
    if (!(await stat(place.path)).isFile()) throw new Error(`"${path}" is not a file`)
    return await open(place.path, 'r')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** One name in an open folder. Use it only with calls that do not follow a link at the end of a path. */
export function entryOf(folder: number, name: string): string
export function entryOf(folder: number, name: Uint8Array): Buffer
export function entryOf(folder: number, name: string | Uint8Array): string | Buffer {
  if (typeof name !== 'string') return Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), checkedName(name)])
  return `/proc/self/fd/${folder}/${checkedName(name)}`
}

/** A name of one component: nothing that leads elsewhere. */
export function checkedName<T extends string | Uint8Array>(name: T): T {
  const text = typeof name === 'string' ? name : Buffer.from(name).toString('latin1')
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('\0'))
    throw new Error(`${JSON.stringify(text)} is not the name of a file in a folder`)
  return name
}
