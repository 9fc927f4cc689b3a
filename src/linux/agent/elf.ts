import type { Architecture } from '../syscall-numbers.ts'
import { arm64Program } from './arm64-program.ts'
import { MEMORY } from './layout.ts'
import { x64Program } from './x64-program.ts'

const HEADER = 64
const PROGRAM_HEADER = 56
const CODE_BASE = 0x400000
const MACHINES: Record<Architecture, number> = { x64: 62, arm64: 183 }
const PT_LOAD = 1
const PT_GNU_STACK = 0x6474e551
const READ = 4
const WRITE = 2
const EXECUTE = 1
/** Also right for arm64 kernels with large pages. */
const ALIGNMENT = 0x10000

/** The agent as a static executable: two segments, no libc, no section of its own. */
export function agentExecutable(architecture: Architecture): Buffer {
  return staticExecutable(architecture, architecture === 'x64' ? x64Program() : arm64Program(), MEMORY)
}

/** Code that needs nothing but, perhaps, some writable memory. It begins at its first byte. */
export function staticExecutable(
  architecture: Architecture,
  code: Buffer,
  memory?: { readonly base: number; readonly size: number },
): Buffer {
  const segments: Segment[] = [
    { type: PT_LOAD, flags: READ | EXECUTE, address: CODE_BASE, fileSize: 0, memorySize: 0 },
    { type: PT_GNU_STACK, flags: READ | WRITE, address: 0, fileSize: 0, memorySize: 0 },
  ]
  if (memory)
    segments.push({ type: PT_LOAD, flags: READ | WRITE, address: memory.base, fileSize: 0, memorySize: memory.size })
  const codeAt = HEADER + segments.length * PROGRAM_HEADER
  const fileSize = codeAt + code.length
  segments[0] = { ...segments[0]!, fileSize, memorySize: fileSize }
  const head = Buffer.alloc(codeAt)
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0])
  head.writeUInt16LE(2, 16)
  head.writeUInt16LE(MACHINES[architecture], 18)
  head.writeUInt32LE(1, 20)
  head.writeBigUInt64LE(BigInt(CODE_BASE + codeAt), 24)
  head.writeBigUInt64LE(BigInt(HEADER), 32)
  head.writeUInt16LE(HEADER, 52)
  head.writeUInt16LE(PROGRAM_HEADER, 54)
  head.writeUInt16LE(segments.length, 56)
  for (const [index, segment] of segments.entries()) writeSegment(head, index, segment)
  return Buffer.concat([head, code])
}

interface Segment {
  readonly type: number
  readonly flags: number
  readonly address: number
  readonly fileSize: number
  readonly memorySize: number
}

function writeSegment(head: Buffer, index: number, segment: Segment): void {
  const at = HEADER + index * PROGRAM_HEADER
  head.writeUInt32LE(segment.type, at)
  head.writeUInt32LE(segment.flags, at + 4)
  const words = [0, segment.address, segment.address, segment.fileSize, segment.memorySize, ALIGNMENT]
  for (const [i, word] of words.entries()) head.writeBigUInt64LE(BigInt(word), at + 8 + 8 * i)
}
