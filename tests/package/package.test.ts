import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** What `npm install sampan` brings: measured on the packed tarball and the lock file. */

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const MEGABYTE = 1e6
let folder: string
let unpacked: string

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-pack-'))
  const env = { ...process.env, npm_config_ignore_scripts: 'true' }
  const name = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
    env,
  })
  execFileSync('tar', ['xzf', path.join(folder, name.trim().split('\n').at(-1) as string), '-C', folder])
  unpacked = path.join(folder, 'package')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function sizeOf(file: string): number {
  const stat = lstatSync(file)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(file).reduce((sum, name) => sum + sizeOf(path.join(file, name)), 0)
}

interface LockEntry {
  dev?: boolean
  devOptional?: boolean
}

function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>
  }
  return Object.entries(lock.packages)
    .filter(([name, entry]) => name !== '' && !entry.dev && !entry.devOptional)
    .map(([name]) => name)
}

describe('the published package', () => {
  test('with its dependencies is under 60 MB', () => {
    const own = sizeOf(unpacked)
    const dependencies = productionPackages().reduce((sum, name) => {
      const file = path.join(ROOT, name)
      return existsSync(file) ? sum + sizeOf(file) : sum
    }, 0)
    console.log(`package ${(own / MEGABYTE).toFixed(1)} MB, dependencies ${(dependencies / MEGABYTE).toFixed(1)} MB`)
    expect(dependencies).toBeGreaterThan(MEGABYTE)
    expect(own + dependencies).toBeLessThan(60 * MEGABYTE)
  })

  test('holds what it needs and nothing else', () => {
    expect(readdirSync(unpacked).sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json'])
    const manifest = JSON.parse(readFileSync(path.join(unpacked, 'package.json'), 'utf8')) as {
      bin: { sampan: string }
    }
    expect(lstatSync(path.join(unpacked, manifest.bin.sampan)).mode & 0o111).not.toBe(0)
  })

  test('its types compile for those who embed it', () => {
    const user = path.join(folder, 'user')
    execFileSync('mkdir', ['-p', path.join(user, 'node_modules')])
    symlinkSync(unpacked, path.join(user, 'node_modules', 'sampan'))
    symlinkSync(path.join(ROOT, 'node_modules', '@types'), path.join(user, 'node_modules', '@types'))
    writeFileSync(path.join(user, 'package.json'), '{"type":"module"}')
    writeFileSync(
      path.join(user, 'main.ts'),
      "import { startCluster } from 'sampan'\nexport async function main(): Promise<void> {\n  await using cluster = await startCluster()\n  const text: string = cluster.kubeconfig\n  console.log(text)\n}\n",
    )
    const flags = [
      '--noEmit',
      '--strict',
      '--target',
      'es2023',
      '--lib',
      'ES2023,ESNext.Disposable',
      '--module',
      'nodenext',
      '--types',
      'node',
      'main.ts',
    ]
    expect(() =>
      execFileSync(path.join(ROOT, 'node_modules', '.bin', 'tsc'), flags, { cwd: user, encoding: 'utf8' }),
    ).not.toThrow()
  })
})
