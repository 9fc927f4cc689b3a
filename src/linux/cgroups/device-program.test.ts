import { describe, expect, test } from 'vitest'
import { deviceProgram } from './device-program.ts'
import { type DeviceRule, ruleText, STANDARD_DEVICES } from './device-rules.ts'

/** What the kernel's interpreter does with these few instructions. */
function run(program: Buffer, context: readonly number[]): number {
  const registers = new Array<number>(11).fill(0)
  for (let at = 0; at < program.length; at += 8) {
    const [code, both] = [program[at]!, program[at + 1]!]
    const [to, from] = [both & 15, both >> 4]
    const [offset, value] = [program.readInt16LE(at + 2), program.readInt32LE(at + 4)]
    if (code === 0x61) registers[to] = context[offset / 4]!
    else if (code === 0xbc) registers[to] = registers[from]!
    else if (code === 0xb7) registers[to] = value
    else if (code === 0x54) registers[to] = registers[to]! & value
    else if (code === 0x74) registers[to] = registers[to]! >>> value
    else if (code === 0x55) at += registers[to] === value ? 0 : 8 * offset
    else if (code === 0x95) return registers[0]!
    else throw new Error(`no instruction ${code.toString(16)}`)
  }
  throw new Error('the program does not end')
}

const TYPE = { b: 1, c: 2 }
const ACCESS: Readonly<Record<string, number>> = { m: 1, r: 2, w: 4 }
const allows = (rules: readonly DeviceRule[], type: 'b' | 'c', major: number, minor: number, access: string) => {
  const wanted = [...access].reduce((bits, letter) => bits | ACCESS[letter]!, 0)
  return run(deviceProgram(rules), [(wanted << 16) | TYPE[type], major, minor]) === 1
}

describe('by the standard rules', () => {
  test.each<[string, 'b' | 'c', number, number, string, boolean]>([
    ['/dev/null can be read and written', 'c', 1, 3, 'rw', true],
    ['/dev/null can be made', 'c', 1, 3, 'm', true],
    ['a terminal can be used', 'c', 136, 77, 'rw', true],
    ['the file of any character device can be made', 'c', 10, 237, 'm', true],
    ['the file of any block device can be made', 'b', 8, 0, 'm', true],
    ['/dev/loop-control cannot be read', 'c', 10, 237, 'r', false],
    ['/dev/mem cannot be written', 'c', 1, 1, 'w', false],
    ['/dev/kmsg cannot be made and read at once', 'c', 1, 11, 'mr', false],
    ['a disk cannot be read', 'b', 8, 0, 'r', false],
    ['a block device with the numbers of /dev/null cannot be read', 'b', 1, 3, 'r', false],
  ])('%s', (_, type, major, minor, access, expected) => {
    expect(allows(STANDARD_DEVICES, type, major, minor, access)).toBe(expected)
  })
})

test.each([
  ['r', 'r', true],
  ['r', 'w', false],
  ['r', 'rw', false],
  ['rw', 'rw', true],
  ['rwm', 'm', true],
])('a rule for %s and a request for %s', (access, asked, expected) => {
  expect(allows([{ type: 'c', major: 1, minor: 11, access }], 'c', 1, 11, asked)).toBe(expected)
})

test('rules of cgroup v1 are text', () => {
  expect(STANDARD_DEVICES.map(ruleText)).toContain('c 136:* rwm')
})
