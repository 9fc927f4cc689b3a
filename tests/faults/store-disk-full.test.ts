import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import { UnavailableError } from '../../src/store/store.ts'

/** A file system of its own that can be filled to the last byte. */
const cannotMount = process.platform !== 'linux' || process.getuid?.() !== 0
if (cannotMount && process.env.CI) throw new Error('this test needs root in CI')

it.skipIf(cannotMount)('fails writes on a full disk, keeps reads, and loses nothing', async () => {
  const mount = mkdtempSync(join(tmpdir(), 'sampan-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', mount])
  try {
    const directory = join(mount, 'store')
    const options = { directory, segmentBytes: 128 << 10, checkpointBytes: 64 << 10 }
    const store = await openEmbeddedStore(options)
    let acknowledged = 1
    const fill = async () => {
      for (;;) {
        const value = Buffer.alloc(10_000, String(acknowledged))
        acknowledged = await store.commit([], [{ key: `/fill/${acknowledged}`, value }])
      }
    }
    const error = await fill().catch((error: unknown) => error)
    expect(error).toBeInstanceOf(UnavailableError)
    expect(String(error)).toMatch(/no space left on device/)
    expect(acknowledged).toBeGreaterThan(50)
    await expect(store.commit([], [{ key: '/x', value: Buffer.alloc(50_000) }])).rejects.toThrow(UnavailableError)
    expect((await store.list('/fill/')).entries).toHaveLength(acknowledged - 1)

    execFileSync('mount', ['-o', 'remount,size=8m', mount])
    expect(await store.commit([], [{ key: '/after', value: Buffer.from('1') }])).toBe(acknowledged + 1)
    await store[Symbol.asyncDispose]()

    const again = await openEmbeddedStore(options)
    expect(await again.revision()).toBe(acknowledged + 1)
    const { entries } = await again.list('/fill/')
    expect(entries.map((entry) => entry.value.length)).toEqual(entries.map(() => 10_000))
    expect(await again.get('/x')).toBeUndefined()
    await again[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  } finally {
    execFileSync('umount', [mount])
    rmdirSync(mount)
  }
})
