import { execFile } from 'node:child_process'
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
  const data = path.join(folder, 'data')
  const kubeconfig = env.KUBECONFIG as string
  const up = ['up', '--detach', '--name', 'test', '--data-dir', data, '--store', options.store ?? 'embedded']
  const started = await sampan(...up, '--api-port', '0', '--kubeconfig', kubeconfig)
  if (started.code !== 0) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`sampan up failed with ${started.code}:\n${started.stdout}\n${started.stderr}`)
  }
  const api = connect(kubeconfig)
  const stop = async () => {
    api.close()
    const down = await sampan('down', '--name', 'test', '--data-dir', data, '--kubeconfig', kubeconfig)
    const left = processesOf(folder)
    for (const pid of left) process.kill(pid, 'SIGKILL')
    if (down.code !== 0) throw new Error(`sampan down failed with ${down.code}:\n${down.stdout}\n${down.stderr}`)
    if (left.length > 0) throw new Error(`sampan down left processes behind: ${left.join(', ')}`)
  }
  let stopped = false
  return {
    folder,
    kubeconfig,
    env,
    greeting: started.stdout,
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

/** Nothing of the user's own configuration, and nothing written outside the folder. */
function testEnvironment(folder: string): NodeJS.ProcessEnv {
  const home = path.join(folder, 'home')
  mkdirSync(path.join(home, '.kube'), { recursive: true })
  return {
    PATH: process.env.PATH,
    HOME: home,
    XDG_DATA_HOME: path.join(home, '.local', 'share'),
    XDG_CONFIG_HOME: path.join(home, '.config'),
    XDG_CACHE_HOME: path.join(home, '.cache'),
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
