import { closeSync, mkdirSync, openSync, readdirSync, stat, unlinkSync } from 'node:fs'
import { linuxCalls } from '../ffi.ts'
import {
  NAMESPACE_DIRECTORY as DIRECTORY,
  isNamespaceName,
  type NetworkNamespace,
  type NetworkNamespaces,
} from '../network-namespace.ts'
import { checked, LinuxError } from '../system-error.ts'

/** Of this thread: /proc/self would be the main thread's. */
const OWN = '/proc/thread-self/ns/net'
const CLONE_NEWNET = 0x40000000
const MS_BIND = 0x1000
const MS_REC = 0x4000
const MS_SHARED = 0x100000
const MNT_DETACH = 2
const EINVAL = 22
const ENOENT = 2
const EEXIST = 17

export function kernelNamespaces(): NetworkNamespaces {
  warmThreadPool()
  let prepared = false
  const prepare = () => {
    if (!prepared) prepareDirectory()
    prepared = true
  }
  return {
    create(name) {
      prepare()
      return createNamespace(pathOf(name), name)
    },
    adopt(name, path) {
      prepare()
      return adoptNamespace(pathOf(name), name, path)
    },
    open: (name) => opened(name, openNamespace(pathOf(name), `namespace ${name}`)),
    delete: (name) => deleteNamespace(pathOf(name), name),
    list: () => listNamespaces(),
    inNamespace: (namespace, work) => inNamespace(namespace.fd, work),
  }
}

/**
 * The libuv pool starts its threads at the first asynchronous file operation, and a thread inherits the namespace of the
 * one that starts it: they would stay in a pod for ever.
 */
function warmThreadPool(): void {
  stat('/', () => {})
}

function pathOf(name: string): string {
  if (!isNamespaceName(name)) throw new LinuxError(EINVAL, `namespace ${name}`)
  return `${DIRECTORY}/${name}`
}

/** As `ip netns add` does: a shared mount point, so that the namespaces are seen by all mount namespaces. */
function prepareDirectory(): void {
  const calls = linuxCalls()
  mkdirSync(DIRECTORY, { recursive: true })
  if (calls.mount('', DIRECTORY, 'none', MS_SHARED | MS_REC) === 0) return
  checked(calls.mount(DIRECTORY, DIRECTORY, 'none', MS_BIND | MS_REC), `mount ${DIRECTORY}`)
  checked(calls.mount('', DIRECTORY, 'none', MS_SHARED | MS_REC), `share ${DIRECTORY}`)
}

function createNamespace(path: string, name: string): NetworkNamespace {
  const calls = linuxCalls()
  createMountPoint(path, name)
  const back = openSync(OWN, 'r')
  try {
    checked(calls.unshare(CLONE_NEWNET), 'unshare')
    try {
      checked(calls.mount(OWN, path, 'none', MS_BIND), `mount ${path}`)
    } finally {
      switchBack(back)
    }
    return opened(name, openSync(path, 'r'))
  } catch (error) {
    calls.umount(path, MNT_DETACH)
    unlinkSync(path)
    throw error
  } finally {
    closeSync(back)
  }
}

function adoptNamespace(path: string, name: string, source: string): NetworkNamespace {
  createMountPoint(path, name)
  try {
    checked(linuxCalls().mount(source, path, 'none', MS_BIND), `mount ${source}`)
    return opened(name, openSync(path, 'r'))
  } catch (error) {
    linuxCalls().umount(path, MNT_DETACH)
    unlinkSync(path)
    throw error
  }
}

function createMountPoint(path: string, name: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o444))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? new LinuxError(EEXIST, `namespace ${name}`) : error
  }
}

function openNamespace(path: string, what: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new LinuxError(ENOENT, what) : error
  }
}

function opened(name: string, fd: number): NetworkNamespace {
  let open = true
  return {
    name,
    fd,
    [Symbol.dispose]: () => {
      if (open) closeSync(fd)
      open = false
    },
  }
}

/** The kernel removes what is inside (the other ends of veth pairs too) when nobody holds the namespace any more. */
function deleteNamespace(path: string, name: string): void {
  closeSync(openNamespace(path, `namespace ${name}`))
  linuxCalls().umount(path, MNT_DETACH)
  unlinkSync(path)
}

function listNamespaces(): string[] {
  try {
    return readdirSync(DIRECTORY).sort()
  } catch {
    return []
  }
}

export function inNamespace<T>(fd: number, work: () => T): T {
  const back = openSync(OWN, 'r')
  try {
    checked(linuxCalls().setns(fd, CLONE_NEWNET), 'setns')
    try {
      return refusePromise(work())
    } finally {
      switchBack(back)
    }
  } finally {
    closeSync(back)
  }
}

/** Everything after this would run in the wrong network: better no process than that. */
function switchBack(fd: number): void {
  if (linuxCalls().setns(fd, CLONE_NEWNET) < 0) process.abort()
}

export function refusePromise<T>(result: T): T {
  if (typeof (result as { then?: unknown } | undefined)?.then === 'function') {
    throw new TypeError('work inside a network namespace must be synchronous')
  }
  return result
}
