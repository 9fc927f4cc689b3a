import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type ApiAccess, connect } from './api.ts'

const execute = promisify(execFile)
/** The built tool, or another one to try: an installed package, an older version. */
const CLI = process.env.SAMPAN_CLI ?? path.resolve(import.meta.dirname, '..', '..', 'dist', 'bin', 'sampan.js')

export interface ClusterOptions {
  store?: 'embedded' | 'memory'
  /** The Node to run it with; this one when absent. */
  node?: string
  /** Go on with the folder of a cluster that was stopped. */
  folder?: string
  /** False runs the API server alone, in memory. */
  controllers?: boolean
  /** Further flags of `sampan up`. */
  flags?: readonly string[]
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** A cluster of the built command line tool, in its own process, with its own home. */
export interface TestCluster extends AsyncDisposable {
  readonly folder: string
  readonly kubeconfig: string
  readonly env: NodeJS.ProcessEnv
  /** What `sampan up` printed. */
  readonly greeting: string
  readonly api: ApiAccess
  /** Another command of the tool in the same home. */
  sampan(...args: string[]): Promise<Ran>
  /** The processes of this cluster. */
  pids(): number[]
  /** Stops it and keeps its folder. */
  stop(): Promise<void>
}

export async function startTestCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  if (!existsSync(CLI)) throw new Error('there is no dist/: npm run build first')
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), 'sampan-test-'))
  const env = testEnvironment(folder)
  const node = options.node ?? process.execPath
  const sampan = (...args: string[]) => runProgram(node, [CLI, ...args], env)
  let running: Running
  try {
    running =
      options.controllers === false ? await startBare(node, env) : await startDetached(options, folder, env, sampan)
  } catch (error) {
    if (!options.folder) rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const kubeconfig = env.KUBECONFIG as string
  const api = connect(kubeconfig)
  const stop = async () => {
    api.close()
    const problem = await running.stop()
    const left = processesOf(folder)
    for (const pid of left) process.kill(pid, 'SIGKILL')
    if (problem) throw new Error(problem)
    if (left.length > 0) throw new Error(`processes were left behind: ${left.join(', ')}`)
  }
  let stopped = false
  return {
    folder,
    kubeconfig,
    env,
    greeting: running.greeting,
    api,
    sampan,
    pids: () => processesOf(folder),
    async stop() {
      stopped = true
      await stop()
    },
    async [Symbol.asyncDispose]() {
      try {
        if (!stopped) await stop()
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

interface Running {
  greeting: string
  /** Says what went wrong, if something did. */
  stop(): Promise<string | undefined>
}

async function startDetached(
  options: ClusterOptions,
  folder: string,
  env: NodeJS.ProcessEnv,
  sampan: (...args: string[]) => Promise<Ran>,
): Promise<Running> {
  const which = ['--name', 'test', '--data-dir', path.join(folder, 'data'), '--kubeconfig', env.KUBECONFIG as string]
  const up = await sampan(
    'up',
    '--detach',
    ...which,
    '--store',
    options.store ?? 'embedded',
    '--api-port',
    '0',
    '--nodes',
    '0',
    ...(options.flags ?? []),
  )
  if (up.code !== 0) throw new Error(`sampan up failed with ${up.code}:\n${up.stdout}\n${up.stderr}`)
  return {
    greeting: up.stdout,
    async stop() {
      const down = await sampan('down', ...which)
      return down.code === 0 ? undefined : `sampan down failed with ${down.code}:\n${down.stdout}\n${down.stderr}`
    },
  }
}

async function startBare(node: string, env: NodeJS.ProcessEnv): Promise<Running> {
  const script = path.join(import.meta.dirname, 'bare-server.mjs')
  const library = path.resolve(path.dirname(CLI), '..', 'cluster', 'index.js')
  const child = spawn(node, [script, library, env.KUBECONFIG as string], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const ready = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
  if (!ready) throw new Error('the API server ended before it was ready')
  return {
    greeting: String(ready[0]),
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      return code === 0 ? undefined : `the API server ended with ${code}`
    },
  }
}

/** Nothing of the user's own configuration, and nothing written outside the folder. */
function testEnvironment(folder: string): NodeJS.ProcessEnv {
  const home = path.join(folder, 'home')
  mkdirSync(path.join(home, '.kube'), { recursive: true })
  return {
    PATH: process.env.PATH,
    HOME: home,
    XDG_DATA_HOME: path.join(home, '.local', 'share'),
    XDG_CONFIG_HOME: path.join(home, '.config'),
    // What the program keeps of its compiled code is the same for all.
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? path.join(home, '.cache'),
    KUBECONFIG: path.join(home, '.kube', 'config'),
    TMPDIR: folder,
    NO_COLOR: '1',
  }
}

/** Processes started with this test's home, found by their environment. */
function processesOf(folder: string): number[] {
  const mark = `HOME=${path.join(folder, 'home')}\0`
  const found: number[] = []
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${entry}/environ`, 'utf8').includes(mark)) found.push(Number(entry))
    } catch {
      // It ended, or it is not ours to look at.
    }
  }
  return found
}

/** Runs a program to its end, whatever its exit code. */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  options: { input?: string; cwd?: string; timeout?: number } = {},
): Promise<Ran> {
  const running = execute(program, args, {
    env,
    cwd: options.cwd,
    timeout: options.timeout ?? 60_000,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
    encoding: 'utf8',
  })
  if (options.input !== undefined) running.child.stdin?.end(options.input)
  else running.child.stdin?.end()
  try {
    return { code: 0, ...(await running) }
  } catch (error) {
    const failed = error as { code?: number | string; signal?: string; stdout?: string; stderr?: string }
    if (typeof failed.code !== 'number' && !failed.signal) throw error
    const code = typeof failed.code === 'number' ? failed.code : 137
    return {
      code,
      stdout: failed.stdout ?? '',
      stderr: `${failed.stderr ?? ''}${failed.signal ? ` (${failed.signal})` : ''}`,
    }
  }
}
