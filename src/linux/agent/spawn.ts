import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import path from 'node:path'
import { AgentChannel } from './channel.ts'
import { FIRST_CONTROL } from './layout.ts'

export interface SpawnOptions {
  readonly stdio: 'ignore' | 'inherit'
  readonly detached: boolean
  readonly cwd?: string
}

/** An agent as a child process of Node; its file is gone when it runs. */
export async function spawnAgent(
  directory: string,
  program: Buffer,
  { stdio, detached, cwd }: SpawnOptions,
): Promise<{ readonly child: ChildProcess; readonly channel: AgentChannel }> {
  const file = path.join(directory, 'agent')
  writeFileSync(file, program, { mode: 0o500 })
  try {
    const child = spawn(file, [], { stdio: [stdio, stdio, stdio, 'pipe'], detached, env: {}, ...(cwd ? { cwd } : {}) })
    await new Promise<void>((resolve, reject) => child.on('spawn', resolve).on('error', reject))
    return { child, channel: new AgentChannel(child.stdio[FIRST_CONTROL] as Socket) }
  } finally {
    rmSync(file, { force: true })
  }
}
