import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { linuxCalls } from '../../../linux/ffi.ts'
import { MNT_DETACH } from '../../../linux/mounts.ts'

const TASKS = 'io.containerd.runtime.v2.task/k8s.io'

/** Takes away what is in the state folder of a containerd that runs no more, and the sockets of its shims. */
export async function clearState(state: string): Promise<void> {
  if (!existsSync(state)) return
  for (const socket of shimSockets(path.join(state, TASKS))) await rm(socket, { force: true })
  for (const mount of mountsBelow(state)) linuxCalls().umount(mount, MNT_DETACH)
  await rm(state, { recursive: true, force: true })
}

/** They are in a folder that all containerds share; each task names its own. */
function shimSockets(tasks: string): string[] {
  if (!existsSync(tasks)) return []
  return readdirSync(tasks).flatMap((id) => {
    const file = path.join(tasks, id, 'address')
    if (!existsSync(file)) return []
    return /^unix:\/\/(\/.*)$/.exec(readFileSync(file, 'utf8').trim())?.[1] ?? []
  })
}

/** The deepest first. */
function mountsBelow(folder: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
  return points.filter((point) => point.startsWith(`${folder}/`)).sort((a, b) => b.length - a.length)
}
