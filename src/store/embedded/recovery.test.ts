import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../base/random.ts'
import { CorruptStoreError } from '../corruption.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../embedded.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { UnavailableError } from '../store.ts'
import { SEGMENT_HEADER } from './segment.ts'

const FIRST = '/store/0000000001.log'

function setUp(segmentBytes = 1 << 16) {
  const disk = new SimulatedDisk(seededRandom(7))
  const open = () =>
    openEmbeddedStore({
      directory: '/store',
      files: disk,
      segmentBytes,
      checkpointBytes: 2000,
      random: seededRandom(3),
    })
  return { disk, open }
}

async function write(store: EmbeddedStore, count: number, size = 100): Promise<void> {
  for (let i = 0; i < count; i++) {
    const last = await store.revision()
    await store.commit([], [{ key: `/k/${i % 7}`, value: Buffer.alloc(size, `${last} `) }])
  }
}

/** Where the frames of a segment start, found by following their lengths. */
function frameOffsets(content: Buffer): number[] {
  const offsets: number[] = []
  for (let at = SEGMENT_HEADER; content.readUInt32LE(at) !== 0; at += Math.ceil(content.readUInt32LE(at + 8) / 8) * 8) {
    offsets.push(at)
  }
  return offsets
}

describe('a damaged tail', () => {
  const damages: [string, (content: Buffer, last: number) => void][] = [
    [
      'a flipped bit in the last frame',
      (content, last) => content.writeUInt8(content.readUInt8(last + 60) ^ 1, last + 60),
    ],
    ['a zeroed header', (content, last) => content.fill(0, last, last + 32)],
    ['a zeroed end', (content, last) => content.fill(0, last + 100, last + 400)],
    ['garbage', (content, last) => content.fill('garbage', last, last + 64)],
    ['a length beyond the file', (content, last) => content.writeUInt32LE(0xfffffff0, last + 8)],
    ['a length of nothing', (content, last) => content.writeUInt32LE(0, last + 8)],
  ]
  it.each(damages)('is cut to the last good commit: %s', async (_name, damage) => {
    const { disk, open } = setUp()
    const store = await open()
    await write(store, 20)
    const before = await store.revision()
    await store[Symbol.asyncDispose]()
    damage(disk.content(FIRST), frameOffsets(disk.content(FIRST)).at(-1)!)
    const again = await open()
    expect(await again.revision()).toBe(before - 1)
    await write(again, 3, 10)
    await again[Symbol.asyncDispose]()
    const third = await open()
    expect(await third.revision()).toBe(before + 2)
    await third[Symbol.asyncDispose]()
  })

  it('is cut where it is: what was cut off never comes back', async () => {
    const { disk, open } = setUp()
    const store = await open()
    await write(store, 10)
    // Two commits in one frame; the first is damaged, the second would still read well.
    await Promise.all([write(store, 1), write(store, 1)])
    await store[Symbol.asyncDispose]()
    const last = frameOffsets(disk.content(FIRST)).at(-1)!
    disk.content(FIRST).writeUInt8(7, last + 40)
    const again = await open()
    await again[Symbol.asyncDispose]()
    expect(
      disk
        .content(FIRST)
        .subarray(last)
        .every((byte) => byte === 0),
    ).toBe(true)
  })
})

describe('damage that no crash explains', () => {
  const damages: [string, (content: Buffer, frames: number[]) => void, (frames: number[]) => number][] = [
    [
      'a flipped bit in an early frame',
      (content, frames) => content.writeUInt8(3, frames[2]! + 70),
      (frames) => frames[2]!,
    ],
    ['an early frame zeroed', (content, frames) => content.fill(0, frames[4]!, frames[5]!), (frames) => frames[4]!],
    ['a wrong length', (content, frames) => content.writeUInt32LE(9999, frames[3]! + 8), (frames) => frames[3]!],
    ['a frame in the wrong place', (content, [a, b, c]) => content.copy(content, a, b, c), ([a]) => a!],
    ['a damaged header', (content) => content.writeUInt8(9, 13), () => 0],
    ['another kind of file', (content) => content.fill('x', 0, 8), () => 0],
  ]
  it.each(damages)('is refused with file and offset: %s', async (_name, damage, offset) => {
    const { disk, open } = setUp()
    const store = await open()
    await write(store, 20)
    await store[Symbol.asyncDispose]()
    const frames = frameOffsets(disk.content(FIRST))
    damage(disk.content(FIRST), frames)
    const image = Buffer.from(disk.content(FIRST))
    const error = await open().catch((error: unknown) => error)
    expect(error).toBeInstanceOf(CorruptStoreError)
    expect(error).toMatchObject({ file: FIRST, offset: offset(frames) })
    expect(String(error)).toContain(`${FIRST} is damaged at offset ${offset(frames)}`)
    expect(disk.content(FIRST).equals(image)).toBe(true)
  })

  it('is refused in a sealed segment, and when a segment is missing', async () => {
    const { disk, open } = setUp(4096)
    const store = await open()
    await write(store, 150)
    await store[Symbol.asyncDispose]()
    const names = (await disk.list('/store')).filter((name) => name.endsWith('.log')).sort()
    expect(names.length).toBeGreaterThan(3)
    const second = `/store/${names[1]}`
    const last = frameOffsets(disk.content(second)).at(-1)!
    disk.content(second).writeUInt8(1, last + 50)
    await expect(open()).rejects.toThrow(`${second} is damaged at offset ${last}`)
    await disk.remove(second)
    await expect(open()).rejects.toThrow(/is missing/)
    await disk.remove(FIRST)
    await expect(open()).rejects.toThrow(/revisions 2 to \d+ are missing/)
  })

  it('is refused in a snapshot', async () => {
    const { disk, open } = setUp(4096)
    const store = await open()
    await write(store, 80)
    await store.compact(await store.revision())
    await write(store, 1)
    await expect.poll(async () => (await disk.list('/store')).some((name) => name.endsWith('.snapshot'))).toBe(true)
    await store[Symbol.asyncDispose]()
    const again = await open()
    expect(await again.revision()).toBe(82)
    await again[Symbol.asyncDispose]()
    const snapshot = (await disk.list('/store')).find((name) => name.endsWith('.snapshot'))!
    disk.content(`/store/${snapshot}`).writeUInt8(1, 100)
    await expect(open()).rejects.toThrow(new RegExp(`${snapshot} is damaged at offset 32`))
  })
})

describe('a full disk', () => {
  it('fails the commits, keeps reads, loses nothing, and goes on when there is space', async () => {
    const { disk, open } = setUp(4096)
    const store = await open()
    await write(store, 10)
    disk.space = 6000
    let acknowledged = await store.revision()
    const failure = await (async () => {
      for (;;) {
        const last = await store.revision()
        await store.commit([], [{ key: `/fill/${last}`, value: Buffer.alloc(700, 'x') }])
        acknowledged = last + 1
      }
    })().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnavailableError)
    expect(String(failure)).toMatch(/no space left on device/)
    expect(await store.revision()).toBe(acknowledged)
    expect(await store.get('/k/1')).toBeDefined()
    await expect(store.commit([], [{ key: '/more', value: Buffer.alloc(900) }])).rejects.toThrow(UnavailableError)
    disk.space = Number.POSITIVE_INFINITY
    await write(store, 5)
    expect(await store.revision()).toBe(acknowledged + 5)
    await store[Symbol.asyncDispose]()
    disk.losePower()
    const again = await open()
    expect(await again.revision()).toBe(acknowledged + 5)
    expect(await again.get('/more')).toBeUndefined()
    await again[Symbol.asyncDispose]()
  })

  it('fails everything that was built upon a failed commit', async () => {
    const { disk, open } = setUp(4096)
    const store = await open()
    const revision = await store.commit([], [{ key: '/a', value: Buffer.from('1') }])
    disk.syncFault = 'ENOSPC'
    const first = store.commit([{ key: '/a', revision }], [{ key: '/a', value: Buffer.from('2') }])
    const upon = store.commit([{ key: '/a', revision: revision + 1 }], [{ key: '/a', value: Buffer.from('3') }])
    const conflicting = store.commit([{ key: '/a', revision }], [{ key: '/a', value: Buffer.from('4') }])
    const failures = await Promise.allSettled([first, upon, conflicting])
    expect(failures.map((failure) => failure.status === 'rejected' && failure.reason.name)).toEqual(
      Array.from({ length: 3 }, () => 'UnavailableError'),
    )
    expect(String((await store.get('/a'))?.value)).toBe('1')
  })
})

it('stops for good when a sync fails, and says so', async () => {
  const { disk, open } = setUp()
  const store = await open()
  await write(store, 5)
  disk.syncFault = 'EIO'
  await expect(write(store, 1)).rejects.toThrow(/no more writes until it is opened again.*EIO/)
  disk.syncFault = undefined
  await expect(write(store, 1)).rejects.toThrow(UnavailableError)
  await expect(store.compact(3)).rejects.toThrow(UnavailableError)
  expect(await store.revision()).toBe(6)
  expect(await store.get('/k/1')).toBeDefined()
})
