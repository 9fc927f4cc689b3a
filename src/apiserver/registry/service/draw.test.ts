import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../base/random.ts'
import { drawOffset, RecentDraws, reservedPart } from './draw.ts'
import { OffsetSet } from './offset-set.ts'

const NONE: ReadonlySet<number> = new Set()

describe('OffsetSet', () => {
  it('behaves like a plain set', () => {
    const offset = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(2 ** 40, 2 ** 40 + 31, 2 ** 52 - 1))
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), offset)), offset, (steps, from) => {
        const bits = new OffsetSet()
        const plain = new Set<number>()
        for (const [isAdd, at] of steps) {
          if (isAdd) {
            bits.add(at)
            plain.add(at)
          } else {
            bits.delete(at)
            plain.delete(at)
          }
        }
        for (const [, at] of steps) expect(bits.has(at)).toBe(plain.has(at))
        let free = from
        while (plain.has(free)) free++
        expect(bits.nextFree(from, from + 300)).toBe(free < from + 300 ? free : undefined)
        expect(bits.nextFree(from, free)).toBeUndefined()
      }),
    )
  })

  it('steps over what is full', () => {
    const bits = new OffsetSet()
    for (let i = 0; i < 1_000_000; i++) if (i !== 777_777) bits.add(i)
    expect(bits.nextFree(0, 1_000_000)).toBe(777_777)
    expect(bits.nextFree(777_778, 1_000_000)).toBeUndefined()
    bits.clear()
    expect(bits.nextFree(5, 6)).toBe(5)
  })
})

describe('reservedPart', () => {
  const addresses = { share: 16, least: 16, most: 256 }
  const ports = { share: 32, least: 16, most: 128 }
  it.each([
    [16, addresses, 0],
    [32, addresses, 16],
    [256, addresses, 16],
    [1024, addresses, 64],
    [65536, addresses, 256],
    [16, ports, 0],
    [100, ports, 16],
    [2768, ports, 86],
    [65535, ports, 128],
  ])('of %i with %o is %i', (size, rule, expected) => {
    expect(reservedPart(size, rule)).toBe(expected)
  })
})

describe('drawOffset', () => {
  const band = { size: 20, reserved: 8 }
  const draw = (used: Iterable<number>, refused = NONE, avoid: readonly number[] = [], seed = 1) => {
    const set = new OffsetSet()
    for (const offset of used) set.add(offset)
    return drawOffset(band, set, refused, (offset) => avoid.includes(offset), seededRandom(seed))
  }
  const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

  it('reaches every number of the upper part', () => {
    const drawn = new Set(upTo(0, 500).map((seed) => draw([], NONE, [], seed)))
    expect([...drawn].sort((a, b) => a! - b!)).toEqual(upTo(8, 20))
  })

  it.each([
    ['the only free one of the upper part', [...upTo(8, 13), ...upTo(14, 20)], [], [], 13],
    ['the lower part when the upper is full', [...upTo(8, 20), ...upTo(0, 3), ...upTo(4, 8)], [], [], 3],
    ['nothing when all is taken', upTo(0, 20), [], [], undefined],
    ['not what was refused', upTo(0, 18), [18], [], 19],
    ['nothing when the rest was refused', upTo(0, 18), [18, 19], [], undefined],
    ['the lower part rather than what to avoid', upTo(1, 19), [], [19], 0],
    ['what to avoid when nothing else is left', upTo(0, 19), [], [19], 19],
  ])('%s', (_, used, refused, avoid, expected) => {
    expect(draw(used, new Set(refused), avoid)).toBe(expected)
  })

  it('draws nothing from an empty pool', () => {
    expect(drawOffset({ size: 0, reserved: 0 }, new OffsetSet(), NONE, () => false, seededRandom(1))).toBeUndefined()
  })
})

it('RecentDraws remembers the latest only', () => {
  const recent = new RecentDraws()
  for (let i = 0; i < 300; i++) recent.add(String(i))
  expect(recent.has('299')).toBe(true)
  expect(recent.has('44')).toBe(true)
  expect(recent.has('43')).toBe(false)
})
