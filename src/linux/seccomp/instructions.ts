/** Classic BPF as seccomp knows it: eight bytes an instruction. */
export interface Instruction {
  readonly code: number
  readonly whenTrue: number
  readonly whenFalse: number
  readonly value: number
}

export const RETURN = 0x06
const LOAD_WORD = 0x20
const MAX_INSTRUCTIONS = 4096

export const statement = (code: number, value: number): Instruction => ({ code, whenTrue: 0, whenFalse: 0, value })
export const load = (offset: number): Instruction => statement(LOAD_WORD, offset)
export const jump = (code: number, value: number, whenTrue: number, whenFalse: number): Instruction => ({
  code,
  whenTrue,
  whenFalse,
  value,
})

export function writeProgram(program: readonly Instruction[]): Buffer {
  if (program.length > MAX_INSTRUCTIONS)
    throw new Error(`a seccomp profile of ${program.length} instructions is too long`)
  const bytes = Buffer.alloc(program.length * 8)
  for (const [i, { code, whenTrue, whenFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * i)
    bytes.writeUInt8(whenTrue, 8 * i + 2)
    bytes.writeUInt8(whenFalse, 8 * i + 3)
    bytes.writeUInt32LE(value >>> 0, 8 * i + 4)
  }
  return bytes
}
