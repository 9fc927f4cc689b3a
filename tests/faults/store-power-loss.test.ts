import { expect, it } from 'vitest'
import { type Random, seededRandom } from '../../src/base/random.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/embedded.ts'
import { SimulatedDisk } from '../../src/store/simulated-disk.ts'
import { StoreModel, verifyWatch, writesOf } from './store-model.ts'

const SEEDS = 40
const CRASHES = 25
const WRITERS = 6

/** Writes until power fails after some number of writes to the log; returns the newest acknowledged revision. */
async function writeUntilPowerFails(store: EmbeddedStore, disk: SimulatedDisk, random: Random): Promise<number> {
  let left = Math.floor(random.next() * 60)
  let off = false
  disk.beforeDurableWrite = () => {
    if (left-- > 0) return
    off = true
    disk.losePower()
  }
  let acknowledged = await store.revision()
  let next = acknowledged + 1
  const writer = async () => {
    while (!off) {
      const expected = next++
      const revision = await store.commit([], writesOf(expected))
      expect(revision).toBe(expected)
      expect(off).toBe(false)
      acknowledged = Math.max(acknowledged, revision)
      if (revision % 40 === 0) await store.compact(revision - 30)
    }
  }
  await Promise.allSettled(Array.from({ length: WRITERS }, writer))
  expect(off).toBe(true)
  disk.beforeDurableWrite = undefined
  return acknowledged
}

it(`loses nothing in ${SEEDS * CRASHES} power failures`, { timeout: 120_000 }, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed)
    const disk = new SimulatedDisk(random)
    const model = new StoreModel()
    const options = { directory: '/store', files: disk, random, segmentBytes: 1 << 14, checkpointBytes: 1 << 14 }
    for (let crash = 0; crash < CRASHES; crash++) {
      const store = await openEmbeddedStore(options)
      await model.verifyState(store)
      const acknowledged = await writeUntilPowerFails(store, disk, random)
      await store[Symbol.asyncDispose]().catch(() => {})
      const recovered = await openEmbeddedStore(options)
      const revision = await recovered.revision()
      expect(revision, `seed ${seed}, crash ${crash}`).toBeGreaterThanOrEqual(acknowledged)
      const remembered = Math.max(1, revision - 30, Math.min(model.revision, revision))
      await model.verifyState(recovered)
      await verifyWatch(recovered, remembered)
      await recovered[Symbol.asyncDispose]()
    }
  }
})
