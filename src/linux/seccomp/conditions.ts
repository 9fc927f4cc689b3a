/** Arguments are 64 bits wide and BPF compares 32: the upper half first, the lower when the upper is equal. */
import type { SeccompCondition } from '../seccomp.ts'
import { type Instruction, jump, load, statement } from './instructions.ts'

const OFFSET_ARGUMENTS = 16
const EQUAL = 0x15
const GREATER = 0x25
const GREATER_EQUAL = 0x35
const AND = 0x54

const upper = (value: bigint) => Number((value >> 32n) & 0xffffffffn)
const lower = (value: bigint) => Number(value & 0xffffffffn)

/** Falls through when the condition holds; else jumps over `rest` more instructions. */
export function conditionCode(condition: SeccompCondition, rest: number): Instruction[] {
  const { index, value, valueTwo } = condition
  const low = load(OFFSET_ARGUMENTS + 8 * index)
  const high = load(OFFSET_ARGUMENTS + 8 * index + 4)
  switch (condition.op) {
    case 'eq':
      return [high, jump(EQUAL, upper(value), 0, 2 + rest), low, jump(EQUAL, lower(value), 0, rest)]
    case 'ne':
      return [high, jump(EQUAL, upper(value), 0, 2), low, jump(EQUAL, lower(value), rest, 0)]
    case 'masked-eq':
      return [
        high,
        statement(AND, upper(value)),
        jump(EQUAL, upper(valueTwo), 0, 3 + rest),
        low,
        statement(AND, lower(value)),
        jump(EQUAL, lower(valueTwo), 0, rest),
      ]
    case 'gt':
    case 'ge': {
      const last = condition.op === 'gt' ? GREATER : GREATER_EQUAL
      return [
        high,
        jump(GREATER, upper(value), 3, 0),
        jump(EQUAL, upper(value), 0, 2 + rest),
        low,
        jump(last, lower(value), 0, rest),
      ]
    }
    case 'lt':
    case 'le': {
      const last = condition.op === 'le' ? GREATER : GREATER_EQUAL
      return [
        high,
        jump(GREATER, upper(value), 3 + rest, 0),
        jump(EQUAL, upper(value), 0, 2),
        low,
        jump(last, lower(value), rest, 0),
      ]
    }
  }
}
