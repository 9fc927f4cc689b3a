/** The BPF program that decides for a group of cgroup v2 which devices it may use (BPF_PROG_TYPE_CGROUP_DEVICE). */
import { AT_FDCWD, O, O_DIRECTORY } from '../mounts.ts'
import type { AgentChannel } from '../syscall-agent.ts'
import type { DeviceRule } from './device-rules.ts'

const TYPES = { b: 1, c: 2 } as const
const ACCESSES = { m: 1, r: 2, w: 4 } as const
const EVERY_ACCESS = 7

/** Registers: what the kernel asks about. `r1` points to it: access and type, major, minor. */
const R = { result: 0, context: 1, type: 2, access: 3, major: 4, minor: 5, rest: 6 } as const

const instruction = (code: number, destination: number, source: number, offset: number, immediate: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt8(code, 0)
  bytes.writeUInt8(destination | (source << 4), 1)
  bytes.writeInt16LE(offset, 2)
  bytes.writeInt32LE(immediate, 4)
  return bytes
}
const load = (register: number, offset: number) => instruction(0x61, register, R.context, offset, 0)
const and = (register: number, mask: number) => instruction(0x54, register, 0, 0, mask)
const shiftRight = (register: number, bits: number) => instruction(0x74, register, 0, 0, bits)
const copy = (to: number, from: number) => instruction(0xbc, to, from, 0, 0)
const set = (register: number, value: number) => instruction(0xb7, register, 0, 0, value)
const jumpUnlessEqual = (register: number, value: number, offset: number) =>
  instruction(0x55, register, 0, offset, value)
const exit = () => instruction(0x95, 0, 0, 0, 0)

/** Allows what one of the rules allows. */
export function deviceProgram(rules: readonly DeviceRule[]): Buffer {
  return Buffer.concat([
    load(R.type, 0),
    copy(R.access, R.type),
    shiftRight(R.access, 16),
    and(R.type, 0xffff),
    load(R.major, 4),
    load(R.minor, 8),
    ...rules.flatMap(ruleInstructions),
    set(R.result, 0),
    exit(),
  ])
}

function ruleInstructions({ type, major, minor, access }: DeviceRule): Buffer[] {
  const allowed = [...access].reduce((bits, letter) => bits | ACCESSES[letter as keyof typeof ACCESSES], 0)
  const checks: { register: number; value: number; before?: Buffer[] }[] = [{ register: R.type, value: TYPES[type] }]
  if (allowed !== EVERY_ACCESS) {
    const before = [copy(R.rest, R.access), and(R.rest, EVERY_ACCESS & ~allowed)]
    checks.push({ register: R.rest, value: 0, before })
  }
  if (major !== '*') checks.push({ register: R.major, value: major })
  if (minor !== '*') checks.push({ register: R.minor, value: minor })
  // From the end: each jump leads behind the verdict.
  const instructions: Buffer[] = [exit(), set(R.result, 1)]
  for (const { register, value, before = [] } of checks.reverse())
    instructions.push(jumpUnlessEqual(register, value, instructions.length), ...before.reverse())
  return instructions.reverse()
}

const BPF_PROG_LOAD = 5
const BPF_PROG_ATTACH = 8
const BPF_PROG_TYPE_CGROUP_DEVICE = 15
const BPF_CGROUP_DEVICE = 6
const BPF_F_ALLOW_MULTI = 2

/** The program stays with the group. False if the kernel refuses. */
export async function attachDeviceProgram(agent: AgentChannel, group: string, program: Buffer): Promise<boolean> {
  const options = Buffer.alloc(72)
  options.writeUInt32LE(BPF_PROG_TYPE_CGROUP_DEVICE, 0)
  options.writeUInt32LE(program.length / 8, 4)
  const pointers = [
    { at: 8, to: program },
    { at: 16, to: Buffer.from('Apache-2.0\0') },
  ]
  const [folder, loaded] = await Promise.all([
    agent.call('openat', [AT_FDCWD, group, O.RDONLY | O_DIRECTORY | O.CLOEXEC, 0], { soft: true }),
    agent.call('bpf', [BPF_PROG_LOAD, { struct: options, pointers }, options.length], { soft: true }),
  ])
  const attachment = Buffer.alloc(16)
  for (const [i, word] of [folder, loaded, BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI].entries())
    attachment.writeInt32LE(word, 4 * i)
  const attached =
    folder < 0 || loaded < 0
      ? -1
      : await agent.call('bpf', [BPF_PROG_ATTACH, attachment, attachment.length], { soft: true })
  for (const descriptor of [folder, loaded]) if (descriptor >= 0) agent.tell('close', [descriptor])
  return attached >= 0
}
