/** The agent of arm64, under qemu-user: the same answers as on this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentChannel } from '../../src/linux/agent/channel.ts'
import { agentExecutable } from '../../src/linux/agent/elf.ts'

const QEMU = '/usr/bin/qemu-aarch64-static'
const AT_FDCWD = -100
const SIGCHLD = 17

describe.skipIf(!existsSync(QEMU) && !process.env.CI)('the arm64 agent', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-arm64-'))
  let child: ChildProcess
  let agent: AgentChannel
  let second: AgentChannel

  beforeAll(async () => {
    const file = path.join(folder, 'agent')
    writeFileSync(file, agentExecutable('arm64'), { mode: 0o755 })
    child = spawn(QEMU, [file], { stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'] })
    await new Promise((resolve, reject) => child.on('spawn', resolve).on('error', reject))
    agent = new AgentChannel(child.stdio[3] as Socket, 'arm64')
    second = new AgentChannel(child.stdio[4] as Socket, 'arm64')
  })
  afterAll(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  test('does what it is told, in order', async () => {
    const [pid, refused, again] = await Promise.all([
      agent.call('getpid'),
      agent.call('openat', [AT_FDCWD, '/is-not-there', 0, 0], { soft: true }),
      agent.call('getpid'),
    ])
    expect(pid).toBe(child.pid)
    expect([refused, again]).toEqual([-2, pid])
  })

  test('keeps a result, and returns memory', async () => {
    const file = path.join(folder, 'hello')
    writeFileSync(file, 'ahoy')
    agent.tell('openat', [AT_FDCWD, file, 0, 0], { keep: true })
    const { bytes } = await agent.answer('read', [0, { out: 64 }, 64], { useKept: true, resultLength: true })
    expect(bytes.toString()).toBe('ahoy')
  })

  test('forks, copies, and waits for its child', async () => {
    const born = second.born()
    const pid = await agent.call('clone', [SIGCHLD, 0, 0, 0, 0], { childControl: 4 })
    await born
    agent.tell('close', [4])
    const target = path.join(folder, 'copy')
    const source = await second.call('openat', [AT_FDCWD, path.join(folder, 'hello'), 0, 0])
    const copy = await second.call('openat', [AT_FDCWD, target, 0o101, 0o600])
    second.tellCopy(source, copy)
    second.tell('exit_group', [23])
    const { bytes } = await agent.answer('wait4', [pid, { out: 4 }, 0, null])
    expect(bytes.readInt32LE(0) >> 8).toBe(23)
    const written = await agent.call('openat', [AT_FDCWD, target, 0, 0])
    const { bytes: content } = await agent.answer('read', [written, { out: 16 }, 16], { resultLength: true })
    expect(content.toString()).toBe('ahoy')
  })
})
