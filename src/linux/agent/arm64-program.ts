/** The agent's loop for arm64. `x19` is the memory, `x20` the control descriptor, `x21` the kept result. */
import { syscallNumbers } from '../syscall-numbers.ts'
import { COPY, COPY_CHUNK, FIRST_CONTROL, FLAG, MEMORY, ORPHAN_EXIT_CODE, REQUEST } from './layout.ts'

const MSG_NOSIGNAL = 0x4000
const numbers = syscallNumbers('arm64')
const RESULT = MEMORY.result - MEMORY.base
const DATA = MEMORY.data - MEMORY.base
const MEM = 19
const CONTROL = 20
const KEPT = 21

class Assembler {
  private readonly words: number[] = []
  private readonly labels = new Map<string, number>()
  private readonly jumps: { at: number; label: string; bits: number; shift: number }[] = []

  emit(word: number): void {
    this.words.push(word >>> 0)
  }

  label(name: string): void {
    this.labels.set(name, this.words.length)
  }

  private branch(word: number, label: string, bits: number, shift: number): void {
    this.jumps.push({ at: this.words.length, label, bits, shift })
    this.emit(word)
  }

  call = (label: string) => this.branch(0x94000000, label, 26, 0)
  jump = (label: string) => this.branch(0x14000000, label, 26, 0)
  jumpIfZero = (register: number, label: string) => this.branch(0xb4000000 | register, label, 19, 5)
  jumpIfNotZero = (register: number, label: string) => this.branch(0xb5000000 | register, label, 19, 5)
  jumpIfBit = (register: number, bit: number, label: string) =>
    this.branch(0x37000000 | (bit << 19) | register, label, 14, 5)
  jumpUnlessBit = (register: number, bit: number, label: string) =>
    this.branch(0x36000000 | (bit << 19) | register, label, 14, 5)
  jumpIfEqual = (label: string) => this.branch(0x54000000, label, 19, 5)

  jumpIfNotPositive(register: number, label: string): void {
    this.emit(0xf100001f | (register << 5)) // cmp x, 0
    this.branch(0x5400000d, label, 19, 5) // b.le
  }

  load = (to: number, from: number, offset: number) => this.emit(0xf9400000 | ((offset / 8) << 10) | (from << 5) | to)
  store = (what: number, to: number, offset: number) => this.emit(0xf9000000 | ((offset / 8) << 10) | (to << 5) | what)
  loadByte = (to: number, from: number, offset: number) => this.emit(0x39400000 | (offset << 10) | (from << 5) | to)
  move = (to: number, from: number) => this.emit(0xaa0003e0 | (from << 16) | to)
  add = (to: number, a: number, b: number) => this.emit(0x8b000000 | (b << 16) | (a << 5) | to)
  subtract = (to: number, a: number, b: number) => this.emit(0xcb000000 | (b << 16) | (a << 5) | to)
  compare = (a: number, b: number) => this.emit(0xeb00001f | (b << 16) | (a << 5))
  return = () => this.emit(0xd65f03c0)
  supervisorCall = () => this.emit(0xd4000001)

  set(register: number, value: number): void {
    this.emit(0xd2800000 | ((value & 0xffff) << 5) | register) // movz
    if (value > 0xffff) this.emit(0xf2a00000 | ((value >>> 16) << 5) | register) // movk, lsl 16
  }

  syscall(name: string): void {
    this.set(8, numbers.get(name)!)
    this.supervisorCall()
  }

  build(): Buffer {
    for (const { at, label, bits, shift } of this.jumps) {
      const distance = this.labels.get(label)! - at
      this.words[at] = (this.words[at]! | ((distance & (2 ** bits - 1)) << shift)) >>> 0
    }
    const code = Buffer.alloc(this.words.length * 4)
    for (const [i, word] of this.words.entries()) code.writeUInt32LE(word, 4 * i)
    return code
  }
}

export function arm64Program(): Buffer {
  const a = new Assembler()
  a.set(MEM, MEMORY.base)
  a.set(CONTROL, FIRST_CONTROL)
  emitLoop(a)
  emitRead(a)
  emitSend(a)
  emitCopy(a)
  a.label('orphan')
  a.set(0, ORPHAN_EXIT_CODE)
  a.syscall('exit_group')
  return a.build()
}

function emitLoop(a: Assembler): void {
  a.label('loop')
  a.move(1, MEM)
  a.set(2, REQUEST.size)
  a.call('read')
  a.load(2, MEM, REQUEST.inputLength)
  a.jumpIfZero(2, 'perform')
  a.load(1, MEM, REQUEST.input)
  a.call('read')

  a.label('perform')
  a.load(9, MEM, REQUEST.flags)
  a.load(8, MEM, REQUEST.number)
  for (let i = 0; i < 6; i++) a.load(i, MEM, REQUEST.argument(i))
  a.jumpUnlessBit(9, FLAG.useKept, 'arguments')
  a.move(0, KEPT)
  a.label('arguments')
  a.set(10, COPY)
  a.compare(8, 10)
  a.jumpIfEqual('copy')
  a.supervisorCall()

  a.label('done')
  a.store(0, MEM, RESULT)
  a.load(9, MEM, REQUEST.flags)
  a.jumpUnlessBit(9, FLAG.keep, 'fork')
  a.move(KEPT, 0)
  a.label('fork')
  a.jumpUnlessBit(9, FLAG.fork, 'answer')
  a.jumpIfNotZero(0, 'answer')
  a.loadByte(CONTROL, MEM, REQUEST.childControl)
  a.label('answer')
  a.jumpIfBit(9, FLAG.silent, 'loop')
  a.set(1, MEMORY.result)
  a.set(2, 8)
  a.call('send')
  a.load(9, MEM, REQUEST.flags)
  a.load(2, MEM, RESULT)
  a.jumpIfBit(9, FLAG.resultLength, 'output')
  a.load(2, MEM, REQUEST.outputLength)
  a.label('output')
  a.jumpIfNotPositive(2, 'loop')
  a.load(1, MEM, REQUEST.output)
  a.call('send')
  a.jump('loop')
}

/** Reads all of `x2` bytes to `x1`. */
function emitRead(a: Assembler): void {
  a.label('read')
  a.move(0, CONTROL)
  a.syscall('read')
  a.jumpIfNotPositive(0, 'orphan')
  a.add(1, 1, 0)
  a.subtract(2, 2, 0)
  a.jumpIfNotZero(2, 'read')
  a.return()
}

function emitSend(a: Assembler): void {
  a.label('send')
  a.move(0, CONTROL)
  a.set(3, MSG_NOSIGNAL)
  a.set(4, 0)
  a.set(5, 0)
  a.syscall('sendto')
  a.return()
}

/** `x22` and `x23` are the two descriptors, `x24` what is left to write, `x25` where. */
function emitCopy(a: Assembler): void {
  a.label('copy')
  a.move(22, 0)
  a.move(23, 1)
  a.label('copyRead')
  a.move(0, 22)
  a.set(1, MEMORY.base + DATA)
  a.set(2, COPY_CHUNK)
  a.syscall('read')
  a.jumpIfNotPositive(0, 'done')
  a.move(24, 0)
  a.set(25, MEMORY.base + DATA)
  a.label('copyWrite')
  a.move(0, 23)
  a.move(1, 25)
  a.move(2, 24)
  a.syscall('write')
  a.jumpIfNotPositive(0, 'done')
  a.add(25, 25, 0)
  a.subtract(24, 24, 0)
  a.jumpIfNotZero(24, 'copyWrite')
  a.jump('copyRead')
}
