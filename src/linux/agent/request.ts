import { LinuxError } from '../system-error.ts'
import { MEMORY, REQUEST } from './layout.ts'

/**
 * What a system call takes: a number, a pointer to a C string (string), to bytes, to bytes that come back (`out`), to a
 * NULL-terminated array of C strings (`strings`), or to bytes that hold pointers themselves (`struct`).
 */
export type SyscallArgument =
  | number
  | bigint
  | string
  | Uint8Array
  | null
  | { readonly out: number }
  | { readonly strings: readonly string[] }
  | { readonly struct: Uint8Array; readonly pointers: readonly { readonly at: number; readonly to: Uint8Array }[] }

const E2BIG = 7
const EINVAL = 22

export interface Request {
  readonly bytes: Buffer
  readonly outputLength: number
}

/** The arguments laid out in the agent's memory, and the words that point there. */
class Arguments {
  private readonly parts: Uint8Array[] = []
  private length = 0
  output = 0
  outputLength = 0

  put(bytes: Uint8Array): bigint {
    const at = MEMORY.data + this.length
    this.parts.push(bytes)
    this.length += bytes.length
    const padding = -this.length & 7
    if (padding > 0) this.parts.push(new Uint8Array(padding))
    this.length += padding
    return BigInt(at)
  }

  word(argument: SyscallArgument): bigint {
    if (typeof argument === 'number' || typeof argument === 'bigint') return BigInt.asUintN(64, BigInt(argument))
    if (argument === null) return 0n
    if (typeof argument === 'string') return this.put(cString(argument))
    if (argument instanceof Uint8Array) return this.put(argument)
    if ('out' in argument) return this.reserve(argument.out)
    if ('strings' in argument) return this.putPointers(argument.strings.map((text) => this.put(cString(text))))
    const struct = Buffer.from(argument.struct)
    for (const { at, to } of argument.pointers) struct.writeBigUInt64LE(this.put(to), at)
    return this.put(struct)
  }

  private reserve(length: number): bigint {
    const at = this.put(new Uint8Array(length))
    this.output = Number(at)
    this.outputLength = length
    return at
  }

  private putPointers(pointers: readonly bigint[]): bigint {
    const array = Buffer.alloc(8 * (pointers.length + 1))
    for (const [i, pointer] of pointers.entries()) array.writeBigUInt64LE(pointer, 8 * i)
    return this.put(array)
  }

  bytes(): Buffer {
    return Buffer.concat(this.parts, this.length)
  }
}

/** A NUL inside would cut a path short and mean another file. */
function cString(text: string): Buffer {
  if (text.includes('\0')) throw new LinuxError(EINVAL, 'a string with a NUL byte')
  return Buffer.from(`${text}\0`)
}

export function encodeRequest(number: number, args: readonly SyscallArgument[], flags: number): Request {
  const memory = new Arguments()
  const words = args.map((argument) => memory.word(argument))
  const input = memory.bytes()
  if (input.length > MEMORY.dataSize) throw new LinuxError(E2BIG, 'system call')
  const head = Buffer.alloc(REQUEST.size)
  const put = (at: number, value: number | bigint) => head.writeBigUInt64LE(BigInt(value), at)
  put(REQUEST.number, number)
  for (const [i, word] of words.entries()) put(REQUEST.argument(i), word)
  put(REQUEST.input, MEMORY.data)
  put(REQUEST.inputLength, input.length)
  put(REQUEST.output, memory.output)
  put(REQUEST.outputLength, memory.outputLength)
  put(REQUEST.flags, flags)
  return { bytes: Buffer.concat([head, input]), outputLength: memory.outputLength }
}
