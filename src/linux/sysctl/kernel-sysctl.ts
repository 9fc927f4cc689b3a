import { readFileSync, writeFileSync } from 'node:fs'
import { inNamespace } from '../namespaces/kernel-namespaces.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import { isSysctlName, type Sysctl } from '../sysctl.ts'
import { LinuxError } from '../system-error.ts'

const EINVAL = 22

/** /proc/sys/net shows the namespace of the thread that looks. */
export function openKernelSysctl(namespace?: NetworkNamespace): Sysctl {
  const inside = <T>(work: () => T): T => (namespace ? inNamespace(namespace.fd, work) : work())
  return {
    read: (name) => inside(() => readSetting(pathOf(name), name)),
    write(name, value) {
      const path = pathOf(name)
      inside(() => refusalAsLinuxError(name, () => writeFileSync(path, String(value))))
    },
  }
}

function pathOf(name: string): string {
  if (!isSysctlName(name)) throw new LinuxError(EINVAL, `sysctl ${name}`)
  return `/proc/sys/${name}`
}

function readSetting(path: string, name: string): string | undefined {
  return refusalAsLinuxError(name, () => {
    try {
      return readFileSync(path, 'utf8').trimEnd()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  })
}

function refusalAsLinuxError<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException
    throw errno === undefined ? error : new LinuxError(Math.abs(errno), `sysctl ${name}`)
  }
}
