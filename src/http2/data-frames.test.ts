import { expect, it } from 'vitest'
import { dataFrames, sharedDataFrames } from './data-frames.ts'
import { END_STREAM, FrameReader } from './frames.ts'

/** [id, flags, bytes] of each frame. */
function read(frames: Buffer): [number, number, string][] {
  const seen: [number, number, string][] = []
  new FrameReader((_type, flags, id, payload) => seen.push([id, flags, payload.toString()])).read(frames)
  return seen
}

it.each<[string, boolean, [number, number, string][]]>([
  ['', true, [[3, END_STREAM, '']]],
  ['abc', false, [[3, 0, 'abc']]],
  ['abcd', true, [[3, END_STREAM, 'abcd']]],
  [
    'abcdefghi',
    true,
    [
      [3, 0, 'abcd'],
      [3, 0, 'efgh'],
      [3, END_STREAM, 'i'],
    ],
  ],
])('%j in frames of four bytes, the last: %s', (text, isLast, frames) => {
  expect(read(dataFrames(3, Buffer.from(text), isLast, 4))).toEqual(frames)
})

it('frames the same bytes once for all streams of a number', () => {
  const bytes = Buffer.from('told to many')
  const [first, , third, fourth] = [1, 1, 1, 1].map((id) => sharedDataFrames(id, bytes, 100))
  expect([third === fourth, third!.equals(first!)]).toEqual([true, true])
  expect(read(sharedDataFrames(5, bytes, 100))).toEqual([[5, 0, 'told to many']])
  expect(read(sharedDataFrames(1, bytes, 8))).toEqual([
    [1, 0, 'told to '],
    [1, 0, 'many'],
  ])
  expect(read(sharedDataFrames(1, Buffer.from('other'), 100))).toEqual([[1, 0, 'other']])
})
