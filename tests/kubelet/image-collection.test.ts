/** A disk that fills up: images that nobody uses go, until enough is free. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isReady, type Workbench, workbench } from '../../src/kubelet/workbench.contract.ts'
import { asRoot } from '../linux/as-root.ts'

const MEBIBYTE = 1 << 20
const DISK = 20
const MINUTE = 60_000
const NO_EVICTION = { memoryAvailableBytes: 0, diskAvailableFraction: 0, inodesFreeFraction: 0 }

asRoot('images on a disk that fills up', () => {
  let disk: string
  let bench: Workbench | undefined
  beforeEach(() => {
    disk = mkdtempSync(path.join(tmpdir(), 'sampan-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}m`, 'tmpfs', disk])
  })
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]()
    bench = undefined
    execFileSync('umount', [disk])
    rmSync(disk, { recursive: true })
  })

  /** Two images were used by pods that are gone, the older one first; a third is in use. */
  async function usedImages(imageLimits?: { highFraction: number; lowFraction: number; minimumAge: number }) {
    bench = await workbench({
      images: { size: 2 * MEBIBYTE },
      kubelet: { rootDir: disk, evictionThresholds: NO_EVICTION, ...(imageLimits && { imageLimits }) },
    })
    for (const name of ['older', 'newer', 'used']) {
      await bench.create(name, { containers: [{ name: 'main', image: `${name}:1` }], terminationGracePeriodSeconds: 1 })
      await bench.untilPod(name, isReady)
      await bench.clock.advanceAsync(1000)
      if (name === 'used') continue
      await bench.pods().delete(name)
      await bench.untilGone(name)
    }
    return bench
  }
  const fill = (mebibytes: number) => writeFileSync(path.join(disk, 'ballast'), Buffer.alloc(mebibytes * MEBIBYTE))
  const left = async () =>
    (await bench!.runtime.images.list()).map(({ repoTags }) => repoTags[0]?.replace(/^.*\//, '')).sort()

  test.each([
    ['84 of 100', 16.8, ['newer:1', 'older:1', 'used:1']],
    ['86 of 100: down to 80, so one is enough', 17.2, ['newer:1', 'used:1']],
    ['95 of 100: both, but never what is in use', 19, ['used:1']],
  ])('by default: %s', async (_how, used, images) => {
    const { clock, until } = await usedImages().then((made) => ({ clock: made.clock, until: made.until.bind(made) }))
    fill(used)
    await clock.advanceAsync(3 * MINUTE)
    if (images.length < 3) await until(left, (found) => found.length === images.length, 10 * MINUTE, 10_000)
    else await clock.advanceAsync(10 * MINUTE)
    expect(await left()).toEqual(images)
  })

  test('as the limits say', async () => {
    const made = await usedImages({ highFraction: 0.5, lowFraction: 0.3, minimumAge: 0 })
    fill(11)
    await made.until(left, (found) => found.length === 1, 10 * MINUTE, 10_000)
    expect(await left()).toEqual(['used:1'])
  })
})
