/** The program of a pod's first process: it holds the namespaces, and reaps whom others left, by ignoring SIGCHLD. */
import { staticExecutable } from './agent/elf.ts'
import { type Architecture, syscallNumbers } from './syscall-numbers.ts'

const SIGCHLD = 17
/** The kernel's struct sigaction: SIG_IGN, and zeros. */
const IGNORE = Buffer.alloc(32)
IGNORE[0] = 1
const SIGNAL_SET_SIZE = 8

export function pauseExecutable(architecture: Architecture): Buffer {
  const code = architecture === 'x64' ? x64Code() : arm64Code()
  return staticExecutable(architecture, Buffer.concat([code, IGNORE]))
}

/** rt_sigaction(SIGCHLD, IGNORE, 0, 8), then ppoll(0, 0, 0, 0, 0) for ever. */
function x64Code(): Buffer {
  const numbers = syscallNumbers('x64')
  const word = (value: number) => [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff]
  const before = [
    ...[0xb8, ...word(numbers.get('rt_sigaction')!)], // mov eax, nr
    ...[0xbf, ...word(SIGCHLD)], // mov edi
    ...[0x48, 0x8d, 0x35], // lea rsi, [rip + what follows]
  ]
  const after = [
    ...[0x31, 0xd2], // xor edx, edx
    ...[0x41, 0xba, ...word(SIGNAL_SET_SIZE)], // mov r10d
    ...[0x0f, 0x05], // syscall
  ]
  const loop = [
    ...[0x31, 0xff, 0x31, 0xf6, 0x31, 0xd2, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0], // edi, esi, edx, r10d, r8d = 0
    ...[0xb8, ...word(numbers.get('ppoll')!)],
    ...[0x0f, 0x05],
  ]
  const jump = [0xeb, (-loop.length - 2) & 0xff]
  return Buffer.from([...before, ...word(after.length + loop.length + jump.length), ...after, ...loop, ...jump])
}

function arm64Code(): Buffer {
  const numbers = syscallNumbers('arm64')
  const set = (register: number, value: number) => 0xd2800000 | (value << 5) | register
  const call = (name: string) => [set(8, numbers.get(name)!), 0xd4000001]
  const after = [set(2, 0), set(3, SIGNAL_SET_SIZE), ...call('rt_sigaction')]
  const loop = [set(0, 0), set(1, 0), set(2, 0), set(3, 0), set(4, 0), ...call('ppoll')]
  const jump = 0x14000000 | (-loop.length & 0x3ffffff)
  // adr x1: the bytes from this instruction to the end of the code, in words of four.
  const address = 0x10000001 | ((after.length + loop.length + 2) << 5)
  const words = [set(0, SIGCHLD), address, ...after, ...loop, jump]
  const code = Buffer.alloc(4 * words.length)
  for (const [i, one] of words.entries()) code.writeUInt32LE(one >>> 0, 4 * i)
  return code
}
