import { mkdir, open, readFile, realpath, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { writeFileAtomically } from '../base/atomic-file.ts'
import type { Clock } from '../base/clock.ts'
import type { HttpTransportOptions } from './http-transport.ts'

/** The parts of a kubeconfig file that are used here; whatever else a file holds is kept as it is. */
export interface Kubeconfig {
  apiVersion?: string
  kind?: string
  clusters?: Named<'cluster', KubeconfigCluster>[]
  users?: Named<'user', KubeconfigUser>[]
  contexts?: Named<'context', KubeconfigContext>[]
  'current-context'?: string
}

export type Named<K extends string, V> = { name: string } & { [key in K]?: V }

export interface KubeconfigCluster {
  server?: string
  'certificate-authority'?: string
  'certificate-authority-data'?: string
  'insecure-skip-tls-verify'?: boolean
  'tls-server-name'?: string
}

export interface KubeconfigUser {
  'client-certificate'?: string
  'client-certificate-data'?: string
  'client-key'?: string
  'client-key-data'?: string
  token?: string
  tokenFile?: string
}

export interface KubeconfigContext {
  cluster?: string
  user?: string
  namespace?: string
}

const LISTS = ['clusters', 'users', 'contexts'] as const

/** The files kubectl reads, in its order: `$KUBECONFIG`, else `~/.kube/config`. */
export function kubeconfigPaths(environment: NodeJS.ProcessEnv = process.env): string[] {
  const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '')
  return listed.length > 0 ? listed : [join(environment.HOME || homedir(), '.kube', 'config')]
}

export async function parseKubeconfig(text: string, path: string): Promise<Kubeconfig> {
  const { parse } = await import('yaml')
  let config: unknown
  try {
    config = parse(text)
  } catch (error) {
    throw new Error(`${path} is not a kubeconfig: ${(error as Error).message}`)
  }
  if (config === null || config === undefined) return {}
  if (typeof config !== 'object' || Array.isArray(config)) throw new Error(`${path} is not a kubeconfig`)
  for (const list of LISTS) {
    const entries = (config as Kubeconfig)[list]
    if (entries !== undefined && entries !== null && !Array.isArray(entries)) {
      throw new Error(`${path} is not a kubeconfig: ${list} is not a list`)
    }
  }
  return config as Kubeconfig
}

/** All files as one, as kubectl sees them: the first to name a thing wins. Missing files are empty. */
export async function loadKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const merged: Kubeconfig = {}
  for (const path of paths) {
    const config = absolute(await readKubeconfig(path), dirname(resolve(path)))
    merged['current-context'] ||= config['current-context']
    merged.clusters = firstOfEach(merged.clusters, config.clusters)
    merged.users = firstOfEach(merged.users, config.users)
    merged.contexts = firstOfEach(merged.contexts, config.contexts)
  }
  return merged
}

function firstOfEach<E extends { name: string }>(known: E[] | undefined, more: E[] | undefined | null): E[] {
  const names = new Set(known?.map((entry) => entry.name))
  return [...(known ?? []), ...(more ?? []).filter((entry) => !names.has(entry.name))]
}

/** File names in a kubeconfig are relative to the file they stand in. */
function absolute(config: Kubeconfig, directory: string): Kubeconfig {
  const files = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile']
  const fix = (entry: object | undefined) => {
    const fields = (entry ?? {}) as Record<string, unknown>
    for (const file of files) {
      const value = fields[file]
      if (typeof value === 'string' && value !== '' && !isAbsolute(value)) fields[file] = join(directory, value)
    }
  }
  for (const { cluster } of config.clusters ?? []) fix(cluster)
  for (const { user } of config.users ?? []) fix(user)
  return config
}

async function readKubeconfig(path: string): Promise<Kubeconfig> {
  try {
    return await parseKubeconfig(await readFile(path, 'utf8'), path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/** Adds the entries of `added`, replaces those of the same name, keeps all others, and makes its context current. */
export function mergeKubeconfig(config: Kubeconfig, added: Kubeconfig): Kubeconfig {
  const merged: Kubeconfig = { apiVersion: 'v1', kind: 'Config', ...config }
  for (const list of LISTS) {
    const names = new Set(added[list]?.map((entry) => entry.name))
    const kept: { name: string }[] = (config[list] ?? []).filter((entry) => !names.has(entry.name))
    Object.assign(merged, { [list]: [...kept, ...(added[list] ?? [])] })
  }
  if (added['current-context']) merged['current-context'] = added['current-context']
  return merged
}

/** Removes the context, cluster and user of this name; undefined if there is nothing to remove. */
export function withoutContext(config: Kubeconfig, name: string): Kubeconfig | undefined {
  if (!LISTS.some((list) => config[list]?.some((entry) => entry.name === name))) return undefined
  const rest: Kubeconfig = { ...config }
  for (const list of LISTS) {
    const kept: { name: string }[] = (config[list] ?? []).filter((entry) => entry.name !== name)
    Object.assign(rest, { [list]: kept })
  }
  if (rest['current-context'] === name) rest['current-context'] = ''
  return rest
}

/**
 * Reads, changes and replaces a kubeconfig file, alone: kubectl and others hold the same `.lock` file while they
 * write. `change` returns undefined to leave the file untouched. Returns whether it was written.
 */
export async function editKubeconfig(
  path: string,
  clock: Clock,
  change: (config: Kubeconfig) => Kubeconfig | undefined,
): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 })
  const unlock = await lock(`${path}.lock`, clock)
  try {
    const changed = change(await readKubeconfig(path))
    if (!changed) return false
    const { stringify } = await import('yaml')
    // A link stays a link: what it points to is replaced.
    const target = await realpath(path).catch(() => path)
    await writeFileAtomically(target, stringify(changed, { version: '1.1', lineWidth: 0, indentSeq: false }))
    return true
  } finally {
    await unlock()
  }
}

const LOCK_ATTEMPTS = 100
const LOCK_INTERVAL = 50
/** A lock this old was left behind by a process that died. */
const STALE_LOCK = 30_000

async function lock(path: string, clock: Clock): Promise<() => Promise<void>> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    try {
      await (await open(path, 'wx', 0o600)).close()
      return () => rm(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const age = await stat(path).then(
      (found) => clock.now() - found.mtimeMs,
      () => 0,
    )
    if (age > STALE_LOCK) await rm(path, { force: true })
    else await clock.sleep(LOCK_INTERVAL)
  }
  throw new Error(`${path} is held by another program; delete it if none is running`)
}

export interface Connection extends Omit<HttpTransportOptions, 'clock'> {
  /** The namespace the context works in. */
  readonly namespace: string
}

/** How to reach the API server of a context, the current one if none is named. */
export async function connectionOf(config: Kubeconfig, contextName?: string): Promise<Connection> {
  const name = contextName ?? config['current-context']
  if (!name) throw new Error('no context is set: name one with --context')
  const context = config.contexts?.find((entry) => entry.name === name)?.context
  if (!context) throw new Error(`there is no context ${JSON.stringify(name)} in the kubeconfig`)
  const cluster = config.clusters?.find((entry) => entry.name === context.cluster)?.cluster
  if (!cluster?.server) throw new Error(`context ${JSON.stringify(name)} names no cluster with a server`)
  const user = config.users?.find((entry) => entry.name === context.user)?.user ?? {}
  const [ca, cert, key] = await Promise.all([
    material(cluster['certificate-authority-data'], cluster['certificate-authority']),
    material(user['client-certificate-data'], user['client-certificate']),
    material(user['client-key-data'], user['client-key']),
  ])
  const token = user.tokenFile ? (await readFile(user.tokenFile, 'utf8')).trim() : user.token
  return {
    server: cluster.server,
    namespace: context.namespace || 'default',
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(token && { token: () => token }),
    ...(cluster['insecure-skip-tls-verify'] && { insecure: true }),
    ...(cluster['tls-server-name'] && { serverName: cluster['tls-server-name'] }),
  }
}

async function material(data: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  return file ? readFile(file, 'utf8') : undefined
}
