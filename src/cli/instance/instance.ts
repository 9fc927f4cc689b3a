import { link, mkdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { CliError } from '../cli-error.ts'
import { processStartTime } from './process-identity.ts'

/** One cluster on this machine: its name, and the directory that holds all there is of it. */
export interface Instance {
  readonly name: string
  readonly dataDir: string
  /** The name in kubeconfig files. */
  readonly context: string
}

/** Who serves a cluster now. */
export interface RunningServer {
  readonly pid: number
  readonly startTime: string
  readonly url: string
  readonly store: string
  /** The kubeconfig that was given a context. */
  readonly kubeconfig?: string
  readonly nodes?: number
}

/** What the last start chose, so that the next one without flags finds the same. */
export interface Settings {
  readonly apiPort?: number
  readonly store?: string
  readonly etcd?: EtcdFiles
  readonly nodes?: number
}

/** PEM files for a connection to etcd by TLS. */
export interface EtcdFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const DEFAULT_NAME = 'default'
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export function instanceOf(options: { name?: string; dataDir?: string }, environment = process.env): Instance {
  const name = options.name ?? DEFAULT_NAME
  if (!NAME.test(name)) {
    throw new CliError(`${JSON.stringify(name)} is no name for a cluster`, ['Use small letters, digits and dashes.'], 2)
  }
  const dataDir = options.dataDir ? resolve(options.dataDir) : join(dataRoot(environment), name)
  return { name, dataDir, context: name === DEFAULT_NAME ? 'sampan' : `sampan-${name}` }
}

/** The flags that name this cluster in a command: none for the default one. */
export function flagsOf({ name, dataDir }: Instance): string {
  const usual = instanceOf({ name }).dataDir
  return `${name === DEFAULT_NAME ? '' : ` --name ${name}`}${dataDir === usual ? '' : ` --data-dir ${dataDir}`}`
}

function dataRoot(environment: NodeJS.ProcessEnv): string {
  if (process.getuid?.() === 0) return '/var/lib/sampan'
  return join(environment.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'sampan')
}

export const logPath = (instance: Instance) => join(instance.dataDir, 'server.log')
export const adminKubeconfigPath = (instance: Instance) => join(instance.dataDir, 'admin.kubeconfig')
const serverPath = (instance: Instance) => join(instance.dataDir, 'server.json')
const settingsPath = (instance: Instance) => join(instance.dataDir, 'settings.json')

/** The live server of this cluster; a file left by a dead one counts for nothing. */
export async function findServer(instance: Instance): Promise<RunningServer | undefined> {
  const server = await readJson<RunningServer>(serverPath(instance))
  return server && isAlive(server) ? server : undefined
}

export const isAlive = (server: Pick<RunningServer, 'pid' | 'startTime'>) =>
  Number.isInteger(server.pid) && server.pid > 0 && processStartTime(server.pid) === server.startTime

/**
 * Enters this process as the server of the cluster; throws if another one lives. The file appears whole or not at
 * all, and only one of two starters gets it.
 */
export async function claimServer(instance: Instance, server: RunningServer): Promise<void> {
  await mkdir(instance.dataDir, { recursive: true, mode: 0o700 })
  const path = serverPath(instance)
  const draft = `${path}.${process.pid}`
  await writeFile(draft, JSON.stringify(server), { mode: 0o600 })
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        return await link(draft, path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === 3) throw error
      }
      const other = await findServer(instance)
      if (other)
        throw new CliError(`cluster ${instance.name} is already served by process ${other.pid} at ${other.url}`)
      await rm(path, { force: true })
    }
  } finally {
    await unlink(draft).catch(() => {})
  }
}

/** Writes what became known after the claim. Only the owner calls it. */
export const updateServer = (instance: Instance, server: RunningServer) =>
  writeFileAtomically(serverPath(instance), JSON.stringify(server))

/** Removes the entry if it is of this process or of one that is gone. */
export async function releaseServer(instance: Instance, pid: number): Promise<void> {
  const server = await readJson<RunningServer>(serverPath(instance))
  if (server && (server.pid === pid || !isAlive(server))) await rm(serverPath(instance), { force: true })
}

export const readSettings = async (instance: Instance): Promise<Settings> =>
  (await readJson<Settings>(settingsPath(instance))) ?? {}

export const writeSettings = (instance: Instance, settings: Settings) =>
  writeFileAtomically(settingsPath(instance), `${JSON.stringify(settings, null, 2)}\n`)

/** Undefined if the file is missing or was never finished. */
async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
