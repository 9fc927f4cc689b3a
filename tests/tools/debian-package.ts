import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { CACHE } from './npm-archive.ts'

const execute = promisify(execFile)

/** Only Debian has them. */
export const hasDebianPackages = existsSync('/etc/debian_version')

/** The files of a package that is not installed, in a folder. A second caller finds it whole or not at all. */
export async function debianPackage(name: string): Promise<string> {
  const files = path.join(CACHE, `debian-${name}`)
  if (existsSync(files)) return files
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(path.join(CACHE, 'debian-'))
  try {
    await download(name, folder)
    const archive = readdirSync(folder).find((file) => file.endsWith('.deb'))
    const unpacked = path.join(folder, 'files')
    await execute('dpkg', ['-x', path.join(folder, archive!), unpacked])
    // Somebody else may have been faster.
    if (!existsSync(files)) renameSync(unpacked, files)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return files
}

async function download(name: string, cwd: string): Promise<void> {
  const get = () => execute('apt-get', ['-q', 'download', name], { cwd })
  await get().catch(async () => {
    await execute('apt-get', ['-q', 'update'])
    await get()
  })
}
