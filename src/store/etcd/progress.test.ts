import { describe, expect, it } from 'vitest'
import { answersInOrder } from './progress.ts'

describe('progress answers come in order', () => {
  const versions: [string, boolean][] = [
    ['3.3.27', false],
    ['3.4.23', false],
    ['3.4.30', false],
    ['3.4.31', true],
    ['3.5.8', false],
    ['3.5.13', true],
    ['3.5.21', true],
    ['3.6.0', true],
    ['3.7.0-alpha.0', true],
    ['4.0.0', true],
    ['', false],
  ]
  it.each(versions)('%s: %s', (version, expected) => expect(answersInOrder(version)).toBe(expected))
})
