import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentExecutable } from './agent/elf.ts'
import { encodeRequest } from './agent/request.ts'
import { AgentGone, type SyscallAgents, startSyscallAgents } from './syscall-agent.ts'
import { syscallNumbers } from './syscall-numbers.ts'
import { LinuxError } from './system-error.ts'

const AT_FDCWD = -100

describe.skipIf(process.platform !== 'linux')('syscall agents', () => {
  let agents: SyscallAgents
  beforeAll(async () => {
    agents = await startSyscallAgents()
  })
  afterAll(() => agents[Symbol.asyncDispose]())

  test('run from a memory file that nobody can change', async () => {
    const path = ['/proc/self/exe', { out: 200 }, 200] as const
    const { bytes } = await agents.host.answer('readlinkat', [AT_FDCWD, ...path], { resultLength: true })
    expect(bytes.toString()).toMatch(/^\/memfd:sampan-agent/)
    const file = await agents.host.call('openat', [AT_FDCWD, '/proc/self/exe', 0, 0])
    expect(await agents.host.call('fcntl', [file, 1034, 0])).toBe(0xf)
    await agents.host.call('close', [file])
  })

  test('answer calls in order, each with its own result', async () => {
    const { channel, pid } = await agents.fork()
    const results = await Promise.all([
      channel.call('getpid'),
      channel.call('umask', [0o22]),
      channel.call('umask', [0o77]),
      channel.call('openat', [AT_FDCWD, '/is-not-there', 0, 0], { soft: true }),
      channel.call('getpid'),
    ])
    expect(results).toEqual([pid, 0, 0o22, -2, pid])
    channel.tell('exit_group', [0])
    await channel.gone
    await expect(channel.call('getpid')).rejects.toBeInstanceOf(AgentGone)
  })

  test('say what was refused, with the name of the errno', async () => {
    const refused = agents.host.call('openat', [AT_FDCWD, '/is-not-there', 0, 0])
    await expect(refused).rejects.toBeInstanceOf(LinuxError)
    await expect(refused).rejects.toMatchObject({ code: 'ENOENT', message: expect.stringContaining('/is-not-there') })
  })

  test('keep a result for the calls after it', async () => {
    const { channel } = await agents.fork()
    channel.tell('openat', [AT_FDCWD, '/proc/self/comm', 0, 0], { keep: true })
    const read = await channel.answer('read', [0, { out: 64 }, 64], { useKept: true, resultLength: true })
    expect(read.bytes.toString()).toBe('sampan-agent\n')
    channel.close()
  })

  test('copy a stream both ways without being asked again', async () => {
    const { channel } = await agents.fork()
    const connection = agents.connect(channel, 20)
    channel.tellCopy(20, 20)
    channel.tell('close', [20])
    const socket = await connection.socket
    const sent = Buffer.alloc(300_000, 'ab')
    socket.end(sent)
    const received: Buffer[] = []
    for await (const chunk of socket) received.push(chunk as Buffer)
    expect(Buffer.concat(received).equals(sent)).toBe(true)
    channel.close()
  })

  test('a fork that is refused is an error, and the agent goes on', async () => {
    const { channel } = await agents.fork()
    const CLONE_THREAD_WITHOUT_VM = 0x10000
    await expect(agents.forkFrom(channel, agents.connect(channel, 20), CLONE_THREAD_WITHOUT_VM)).rejects.toThrow(
      'EINVAL',
    )
    expect(await channel.call('getppid')).toBeGreaterThan(0)
    channel.close()
  })

  test('an agent without a driver ends', async () => {
    const { channel, pid } = await agents.fork()
    channel.close()
    await channel.gone
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.each(['x64', 'arm64'] as const)('the %s agent is a tiny static executable', (architecture) => {
  const program = agentExecutable(architecture)
  expect(program.subarray(0, 4).toString('latin1')).toBe('\x7fELF')
  expect(program.length).toBeLessThan(1024)
})

test('a string with a NUL byte is no path', () => {
  expect(() => encodeRequest(0, ['/etc\0/passwd'], 0)).toThrow('EINVAL')
})

test('what does not fit is refused before it is sent', () => {
  expect(() => encodeRequest(0, [new Uint8Array(9 << 20)], 0)).toThrow('E2BIG')
})

test.each([
  ['x64', 'execve', 59],
  ['arm64', 'execve', 221],
  ['x64', 'pivot_root', 155],
  ['arm64', 'pivot_root', 41],
  ['x64', 'close_range', 436],
  ['arm64', 'close_range', 436],
  ['x64', 'newfstatat', 262],
  ['arm64', 'newfstatat', 79],
  ['arm64', 'io_pgetevents', 292],
  ['x64', 'rseq', 334],
] as const)('%s: %s is %i', (architecture, name, number) => {
  expect(syscallNumbers(architecture).get(name)).toBe(number)
})
