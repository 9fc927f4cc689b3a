/** Which files of the node the host image shows. What is not listed here is not in the image. */
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import path from 'node:path'

/** Beside /usr. On most distributions they are links into it, which the image copies. */
export const PROGRAM_FOLDERS = ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32']

/** Files of /etc that are copied, if everyone may read them. */
export const COPIED_FILES = [
  'ld.so.cache',
  'ld.so.conf',
  'nsswitch.conf',
  'localtime',
  'protocols',
  'services',
  'mime.types',
  'ssl/openssl.cnf',
  'pki/tls/openssl.cnf',
]

/** Public certificates of authorities, and the links by which programs have several versions. Keys are beside these. */
const PUBLIC_FOLDERS = [
  '/etc/ssl/certs',
  '/etc/alternatives',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/pki/java',
]

/** The trees of programs and public data, and the executable of Node where it is in none of them. */
export function visiblePaths(executable = realpathSync(process.execPath)): string[] {
  const programs = ['/usr', ...PROGRAM_FOLDERS.map((name) => `/${name}`).filter(isFolder)]
  const isShown = programs.some((folder) => executable.startsWith(`${folder}/`))
  return [...programs, ...PUBLIC_FOLDERS.filter((folder) => existsSync(folder)), ...(isShown ? [] : [executable])]
}

export const executableFolder = () => path.dirname(realpathSync(process.execPath))

const isFolder = (place: string) => lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false
