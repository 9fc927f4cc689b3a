import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'

const execute = promisify(execFile)

/** Kept between runs, never committed. */
export const CACHE = path.resolve(import.meta.dirname, '..', '..', '.cache', 'tools')

/** The tarball of a package at one version; npm checks its integrity. A second caller finds it whole or not at all. */
export async function npmArchive(name: string, version: string): Promise<Buffer> {
  const tarball = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  const file = path.join(CACHE, tarball)
  if (existsSync(file)) return readFileSync(file)
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(path.join(CACHE, 'pack-'))
  try {
    await execute('npm', ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`])
    renameSync(path.join(folder, tarball), file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return readFileSync(file)
}

/** One file out of a tarball. */
export function readTarEntry(archive: Buffer, wanted: string): Buffer {
  const tar = gunzipSync(archive)
  for (let at = 0; at + 512 <= tar.length; ) {
    const name = text(tar, at, 100)
    const prefix = text(tar, at + 345, 155)
    const size = Number.parseInt(text(tar, at + 124, 12), 8) || 0
    if ((prefix ? `${prefix}/${name}` : name) === wanted) return tar.subarray(at + 512, at + 512 + size)
    at += 512 + Math.ceil(size / 512) * 512
  }
  throw new Error(`no ${wanted} in the tarball`)
}

function text(tar: Buffer, at: number, length: number): string {
  const end = tar.indexOf(0, at)
  return tar.toString('utf8', at, Math.min(end === -1 ? at + length : end, at + length)).trim()
}

/** Makes an executable of the cache once; a second caller finds it whole or not at all. */
export async function cachedExecutable(name: string, make: () => Promise<Buffer>): Promise<string> {
  const file = path.join(CACHE, name)
  if (existsSync(file)) return file
  const bytes = await make()
  mkdirSync(path.dirname(file), { recursive: true })
  const temporary = `${file}.${process.pid}`
  try {
    writeFileSync(temporary, bytes, { mode: 0o755 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
  return file
}
