/** The agent's loop for x64. `r12` holds the control descriptor, `r13` the kept result; `rcx` and `r11` belong to the kernel. */
import { syscallNumbers } from '../syscall-numbers.ts'
import { COPY, COPY_CHUNK, FIRST_CONTROL, FLAG, MEMORY, ORPHAN_EXIT_CODE, REQUEST } from './layout.ts'

const MSG_NOSIGNAL = 0x4000
const numbers = syscallNumbers('x64')
const request = (offset: number) => MEMORY.request + offset

class Assembler {
  private readonly bytes: number[] = []
  private readonly labels = new Map<string, number>()
  private readonly jumps: { at: number; label: string }[] = []

  emit(...bytes: number[]): void {
    this.bytes.push(...bytes)
  }

  word(value: number): void {
    this.bytes.push(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff)
  }

  label(name: string): void {
    this.labels.set(name, this.bytes.length)
  }

  private target(label: string): void {
    this.jumps.push({ at: this.bytes.length, label })
    this.word(0)
  }

  call(label: string): void {
    this.emit(0xe8)
    this.target(label)
  }

  jump(label: string): void {
    this.emit(0xe9)
    this.target(label)
  }

  jumpIf(condition: 'zero' | 'notZero' | 'notPositive', label: string): void {
    this.emit(0x0f, { zero: 0x84, notZero: 0x85, notPositive: 0x8e }[condition])
    this.target(label)
  }

  /** mov r32, imm32 */
  set(register: keyof typeof SET, value: number): void {
    this.emit(...SET[register])
    this.word(value)
  }

  /** mov reg, [abs32] */
  load(register: keyof typeof LOAD, address: number): void {
    const [prefix, modrm] = LOAD[register]
    this.emit(...prefix, 0x8b, modrm, 0x25)
    this.word(address)
  }

  /** Jumps if the bit of the request's flags is (not) set; overwrites `ecx`. */
  jumpUnlessFlag(bit: number, label: string): void {
    this.load('ecx', request(REQUEST.flags))
    this.emit(0xf6, 0xc1, 1 << bit)
    this.jumpIf('zero', label)
  }

  syscall(): void {
    this.emit(0x0f, 0x05)
  }

  build(): Buffer {
    const code = Buffer.from(this.bytes)
    for (const { at, label } of this.jumps) code.writeInt32LE(this.labels.get(label)! - (at + 4), at)
    return code
  }
}

const SET = { eax: [0xb8], edi: [0xbf], esi: [0xbe], edx: [0xba], r10d: [0x41, 0xba], r12d: [0x41, 0xbc] } as const

const LOAD = {
  ecx: [[], 0x0c],
  edx: [[], 0x14],
  rax: [[0x48], 0x04],
  rdi: [[0x48], 0x3c],
  rsi: [[0x48], 0x34],
  rdx: [[0x48], 0x14],
  r10: [[0x4c], 0x14],
  r8: [[0x4c], 0x04],
  r9: [[0x4c], 0x0c],
} as const

export function x64Program(): Buffer {
  const a = new Assembler()
  a.set('r12d', FIRST_CONTROL)
  emitLoop(a)
  emitRead(a)
  emitSend(a)
  emitCopy(a)
  a.label('orphan')
  a.set('eax', numbers.get('exit_group')!)
  a.set('edi', ORPHAN_EXIT_CODE)
  a.syscall()
  return a.build()
}

function emitLoop(a: Assembler): void {
  a.label('loop')
  a.set('esi', MEMORY.request)
  a.set('edx', REQUEST.size)
  a.call('read')
  a.load('edx', request(REQUEST.inputLength))
  a.emit(0x85, 0xd2) // test edx, edx
  a.jumpIf('zero', 'perform')
  a.load('rsi', request(REQUEST.input))
  a.call('read')

  a.label('perform')
  a.load('rdi', request(REQUEST.argument(0)))
  a.jumpUnlessFlag(FLAG.useKept, 'arguments')
  a.emit(0x4c, 0x89, 0xef) // mov rdi, r13
  a.label('arguments')
  for (const [i, register] of (['rsi', 'rdx', 'r10', 'r8', 'r9'] as const).entries())
    a.load(register, request(REQUEST.argument(i + 1)))
  a.load('rax', request(REQUEST.number))
  a.emit(0x3d) // cmp eax, imm32
  a.word(COPY)
  a.jumpIf('zero', 'copy')
  a.syscall()

  a.label('done')
  a.emit(0x48, 0x89, 0x04, 0x25) // mov [result], rax
  a.word(MEMORY.result)
  a.jumpUnlessFlag(FLAG.keep, 'fork')
  a.emit(0x49, 0x89, 0xc5) // mov r13, rax
  a.label('fork')
  a.jumpUnlessFlag(FLAG.fork, 'answer')
  a.emit(0x48, 0x85, 0xc0) // test rax, rax
  a.jumpIf('notZero', 'answer')
  a.emit(0x44, 0x0f, 0xb6, 0x24, 0x25) // movzx r12d, byte [childControl]
  a.word(request(REQUEST.childControl))
  a.label('answer')
  a.emit(0xf6, 0xc1, 1 << FLAG.silent) // test cl, silent
  a.jumpIf('notZero', 'loop')
  a.set('esi', MEMORY.result)
  a.set('edx', 8)
  a.call('send')
  a.jumpUnlessFlag(FLAG.resultLength, 'fixedLength')
  a.load('edx', MEMORY.result)
  a.jump('output')
  a.label('fixedLength')
  a.load('edx', request(REQUEST.outputLength))
  a.label('output')
  a.emit(0x85, 0xd2) // test edx, edx
  a.jumpIf('notPositive', 'loop')
  a.load('rsi', request(REQUEST.output))
  a.call('send')
  a.jump('loop')
}

/** Reads all of `edx` bytes to `rsi`. */
function emitRead(a: Assembler): void {
  a.label('read')
  a.emit(0x44, 0x89, 0xe7) // mov edi, r12d
  a.emit(0x31, 0xc0) // xor eax, eax: read
  a.syscall()
  a.emit(0x85, 0xc0) // test eax, eax
  a.jumpIf('notPositive', 'orphan')
  a.emit(0x48, 0x98, 0x48, 0x01, 0xc6, 0x29, 0xc2) // cdqe; add rsi, rax; sub edx, eax
  a.jumpIf('notZero', 'read')
  a.emit(0xc3)
}

function emitSend(a: Assembler): void {
  a.label('send')
  a.emit(0x44, 0x89, 0xe7) // mov edi, r12d
  a.set('r10d', MSG_NOSIGNAL)
  a.emit(0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9) // xor r8d, r8d; xor r9d, r9d
  a.set('eax', numbers.get('sendto')!)
  a.syscall()
  a.emit(0xc3)
}

/** `r14` and `r15` are the two descriptors, `rbx` what is left to write, `rbp` where. */
function emitCopy(a: Assembler): void {
  a.label('copy')
  a.emit(0x41, 0x89, 0xfe, 0x41, 0x89, 0xf7) // mov r14d, edi; mov r15d, esi
  a.label('copyRead')
  a.emit(0x44, 0x89, 0xf7) // mov edi, r14d
  a.set('esi', MEMORY.data)
  a.set('edx', COPY_CHUNK)
  a.emit(0x31, 0xc0)
  a.syscall()
  a.emit(0x48, 0x85, 0xc0)
  a.jumpIf('notPositive', 'done')
  a.emit(0x48, 0x89, 0xc3) // mov rbx, rax
  a.emit(0xbd) // mov ebp, data
  a.word(MEMORY.data)
  a.label('copyWrite')
  a.emit(0x44, 0x89, 0xff) // mov edi, r15d
  a.emit(0x48, 0x89, 0xee, 0x48, 0x89, 0xda) // mov rsi, rbp; mov rdx, rbx
  a.set('eax', numbers.get('write')!)
  a.syscall()
  a.emit(0x48, 0x85, 0xc0)
  a.jumpIf('notPositive', 'done')
  a.emit(0x48, 0x01, 0xc5, 0x48, 0x29, 0xc3) // add rbp, rax; sub rbx, rax
  a.jumpIf('notZero', 'copyWrite')
  a.jump('copyRead')
}
