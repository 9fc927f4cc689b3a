import { accessSync, constants } from 'node:fs'
import path from 'node:path'

const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc'] as const
export const PROGRAM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** What is not installed of what a private containerd needs. */
export const missingPrograms = (folders = searched()) =>
  PROGRAMS.filter((name) => findProgram(name, folders) === undefined)

const searched = () => [...(process.env.PATH ?? '').split(path.delimiter), ...PROGRAM_FOLDERS]

export function findProgram(name: string, folders: readonly string[] = searched()): string | undefined {
  return folders.map((folder) => path.join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
