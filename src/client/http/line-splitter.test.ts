import { expect, test } from 'vitest'
import { LineSplitter } from './line-splitter.ts'

const TEXT = '{"a":"é€😀"}\n\n{"b":2}\n{"c":3}\nrest'

test.each(Array.from({ length: 12 }, (_, i) => i + 1))('chunks of %i bytes give the same lines', (size) => {
  const bytes = Buffer.from(TEXT)
  const splitter = new LineSplitter()
  const lines: string[] = []
  for (let i = 0; i < bytes.length; i += size) lines.push(...splitter.push(bytes.subarray(i, i + size)))
  expect(lines).toEqual(['{"a":"é€😀"}', '{"b":2}', '{"c":3}'])
  expect(splitter.hasPartial).toBe(true)
  expect(splitter.push(Buffer.from('\n'))).toEqual(['rest'])
  expect(splitter.hasPartial).toBe(false)
})
