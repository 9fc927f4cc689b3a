import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../base/clock.ts'

export type CniCommand = 'ADD' | 'DEL' | 'CHECK'

export interface PluginCall {
  readonly command: CniCommand
  readonly type: string
  /** On standard input. */
  readonly configuration: unknown
  readonly containerId: string
  /** Empty when the namespace is gone. */
  readonly netns: string
  readonly ifName: string
  readonly args: string
}

export interface PluginHost {
  readonly binDirs: readonly string[]
  readonly clock: Clock
  /** Starts a program; for a node that is a namespace of this process, in there. */
  readonly start?: (start: () => ChildProcess) => ChildProcess
}

/** A plugin's own words; the codes are those of the specification, from 100 on the plugin's own. */
export class CniError extends Error {
  override readonly name = 'CniError'
  readonly plugin: string
  readonly code: number

  constructor(plugin: string, command: CniCommand, { code = 999, msg = '', details = '' }: CniFailure) {
    super(`CNI plugin ${plugin} failed (${command}): ${msg}${details ? `; ${details}` : ''}`)
    this.plugin = plugin
    this.code = code
  }
}

interface CniFailure {
  readonly code?: number
  readonly msg?: string
  readonly details?: string
}

const DEADLINE = 120_000
const LONGEST_ANSWER = 4 << 20

/** Runs one plugin; its answer, parsed, or undefined if it gave none. */
export async function runPlugin(host: PluginHost, call: PluginCall): Promise<unknown> {
  const program = findPlugin(call.type, host.binDirs)
  const env = {
    PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin',
    CNI_COMMAND: call.command,
    CNI_CONTAINERID: call.containerId,
    CNI_NETNS: call.netns,
    CNI_IFNAME: call.ifName,
    CNI_ARGS: call.args,
    CNI_PATH: host.binDirs.join(path.delimiter),
  }
  const start = () => spawn(program, { env, stdio: 'pipe' })
  const child = host.start ? host.start(start) : start()
  const { code, stdout, stderr } = await finished(child, JSON.stringify(call.configuration), host.clock)
  if (code === 0) return stdout.trim() === '' ? undefined : parsed(stdout, call)
  const failure = failureIn(stdout) ?? { msg: stderr.trim() || stdout.trim() || `it ended with ${code}` }
  throw new CniError(call.type, call.command, failure)
}

export function findPlugin(type: string, binDirs: readonly string[]): string {
  for (const directory of binDirs) {
    const program = path.join(directory, type)
    try {
      accessSync(program, constants.X_OK)
      return program
    } catch {
      // In another directory, perhaps.
    }
  }
  throw new Error(`failed to find plugin "${type}" in path [${binDirs.join(' ')}]`)
}

interface Finished {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

function finished(child: ChildProcess, input: string, clock: Clock): Promise<Finished> {
  const output: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' }
  const deadline = clock.after(DEADLINE, () => child.kill('SIGKILL'))
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(0, LONGEST_ANSWER)
    })
  }
  // A plugin that does not read its input ends the pipe; what it says is in its answer.
  child.stdin!.on('error', () => {})
  child.stdin!.end(input)
  return new Promise<Finished>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? 'no status', ...output }))
  }).finally(() => deadline.cancel())
}

function parsed(text: string, { type, command }: PluginCall): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CniError(type, command, { code: 6, msg: `its answer is no JSON: ${text.slice(0, 200)}` })
  }
}

function failureIn(text: string): CniFailure | undefined {
  try {
    const failure = JSON.parse(text) as CniFailure
    return typeof failure?.msg === 'string' ? failure : undefined
  } catch {
    return undefined
  }
}
