import { expect, test } from 'vitest'
import { defaultSeccompFilter, seccompFilterOf } from './seccomp.ts'
import { type Architecture, syscallNumbers } from './syscall-numbers.ts'

const ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 }
const ALLOW = 0x7fff0000
const errno = (value: number) => 0x00050000 | value

/** What the kernel does with a filter: the value it returns for one call. */
function run(filter: Buffer, call: { number: number; arch: number; args: readonly bigint[] }): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call.number >>> 0, 0)
  data.writeUInt32LE(call.arch, 4)
  for (const [i, arg] of call.args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, arg), 16 + 8 * i)
  let accumulator = 0
  for (let at = 0; ; at++) {
    const code = filter.readUInt16LE(8 * at)
    const value = filter.readUInt32LE(8 * at + 4)
    const branch = (holds: boolean) => (holds ? filter[8 * at + 2]! : filter[8 * at + 3]!)
    if (code === 0x20) accumulator = data.readUInt32LE(value)
    else if (code === 0x15) at += branch(accumulator === value)
    else if (code === 0x25) at += branch(accumulator > value)
    else if (code === 0x35) at += branch(accumulator >= value)
    else if (code === 0x05) at += value
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0
    else if (code === 0x06) return value
    else throw new Error(`instruction ${code}`)
  }
}

function verdict(
  filter: Buffer,
  name: string,
  args: readonly bigint[] = [],
  architecture: Architecture = 'x64',
): number {
  return run(filter, { number: syscallNumbers(architecture).get(name)!, arch: ARCH[architecture], args })
}

const DEFAULT: readonly [string, readonly bigint[], number][] = [
  ['read', [], ALLOW],
  ['execve', [], ALLOW],
  ['ptrace', [], ALLOW],
  ['rseq', [], ALLOW],
  ['mseal', [], ALLOW],
  ['mount', [], errno(1)],
  ['unshare', [], errno(1)],
  ['setns', [], errno(1)],
  ['bpf', [], errno(1)],
  ['keyctl', [], errno(1)],
  ['kexec_load', [], errno(1)],
  ['io_uring_setup', [], errno(1)],
  ['open_by_handle_at', [], errno(1)],
  ['userfaultfd', [], errno(1)],
  ['clone3', [], errno(38)],
  ['clone', [0x11n], ALLOW],
  ['clone', [0x10000011n], errno(1)],
  ['clone', [0x20000n], errno(1)],
  ['socket', [2n], ALLOW],
  ['socket', [40n], errno(1)],
  ['personality', [0n], ALLOW],
  ['personality', [0xffffffffn], ALLOW],
  ['personality', [0x40000n], errno(1)],
]

test.each(['x64', 'arm64'] as const)('the default profile on %s', (architecture) => {
  const filter = defaultSeccompFilter([], architecture)
  for (const [name, args, expected] of DEFAULT)
    expect([name, args, verdict(filter, name, args, architecture)]).toEqual([name, args, expected])
  expect(filter.length / 8).toBeLessThan(400)
})

test.each([
  ['SYS_ADMIN', 'mount'],
  ['SYS_ADMIN', 'clone3'],
  ['SYS_CHROOT', 'chroot'],
  ['SYS_TIME', 'clock_settime'],
  ['SYS_MODULE', 'finit_module'],
  ['BPF', 'bpf'],
  ['PERFMON', 'perf_event_open'],
])('%s brings %s', (capability, name) => {
  expect(verdict(defaultSeccompFilter([]), name)).not.toBe(ALLOW)
  expect(verdict(defaultSeccompFilter([capability]), name)).toBe(ALLOW)
})

test('calls of another architecture or ABI are unknown', () => {
  const filter = defaultSeccompFilter([], 'x64')
  expect(run(filter, { number: 3, arch: 0x40000003, args: [] })).toBe(errno(38))
  expect(run(filter, { number: 0x40000000, arch: ARCH.x64, args: [] })).toBe(errno(38))
  expect(run(filter, { number: 100_000, arch: ARCH.x64, args: [] })).toBe(errno(1))
  expect(run(filter, { number: -1, arch: ARCH.x64, args: [] })).not.toBe(ALLOW)
})

const HUGE = 0x1_0000_0002

test.each([
  ['SCMP_CMP_EQ', HUGE, [BigInt(HUGE)], [2n, 1n << 32n, 0n]],
  ['SCMP_CMP_NE', HUGE, [2n, 1n << 32n, 0n], [BigInt(HUGE)]],
  ['SCMP_CMP_LT', HUGE, [0n, 0xffffffffn, 0x1_0000_0001n], [BigInt(HUGE), 0x2_0000_0000n]],
  ['SCMP_CMP_LE', HUGE, [0n, BigInt(HUGE)], [0x1_0000_0003n, 0x2_0000_0000n]],
  ['SCMP_CMP_GT', HUGE, [0x1_0000_0003n, 0x2_0000_0000n], [BigInt(HUGE), 5n]],
  ['SCMP_CMP_GE', HUGE, [BigInt(HUGE), 0x2_0000_0000n], [0x1_0000_0001n, 0xffffffffn]],
])('%s compares all 64 bits', (op, value, held, broken) => {
  const filter = seccompFilterOf(
    JSON.stringify({
      defaultAction: 'SCMP_ACT_KILL_PROCESS',
      syscalls: [{ names: ['write'], action: 'SCMP_ACT_ALLOW', args: [{ index: 2, value, op }] }],
    }),
    [],
    'x64',
  )
  for (const arg of held) expect(verdict(filter, 'write', [0n, 0n, arg])).toBe(ALLOW)
  for (const arg of broken) expect(verdict(filter, 'write', [0n, 0n, arg])).toBe(0x80000000)
})

test('a profile may ask for capabilities and architectures', () => {
  const profile = JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 13,
    syscalls: [
      { names: ['chroot'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_CHROOT'] } },
      { names: ['arch_prctl'], action: 'SCMP_ACT_ALLOW', includes: { arches: ['amd64'] } },
      { names: ['kill'], action: 'SCMP_ACT_ALLOW', excludes: { caps: ['CAP_KILL'] } },
    ],
  })
  expect(verdict(seccompFilterOf(profile, ['SYS_CHROOT'], 'x64'), 'chroot')).toBe(ALLOW)
  expect(verdict(seccompFilterOf(profile, [], 'x64'), 'chroot')).toBe(errno(13))
  expect(verdict(seccompFilterOf(profile, [], 'x64'), 'arch_prctl')).toBe(ALLOW)
  expect(verdict(seccompFilterOf(profile, ['KILL'], 'x64'), 'kill')).toBe(errno(13))
})

test.each([
  ['{', 'seccomp profile'],
  ['[]', 'defaultAction is missing'],
  ['{"defaultAction":"SCMP_ACT_DANCE"}', 'unknown action SCMP_ACT_DANCE'],
  [
    '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":9,"op":"SCMP_CMP_EQ"}]}]}',
    'no argument 9',
  ],
])('%s is refused', (json, message) => {
  expect(() => seccompFilterOf(json, [], 'x64')).toThrow(message)
})
