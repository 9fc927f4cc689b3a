import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { FeatureGate } from '../../api/feature-gates.ts'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { claim, findOwner, type ProcessRecord, readJson, release } from '../../base/process-claim.ts'
import type { KubeletChoices } from '../../cluster/node-settings.ts'
import { CliError } from '../cli-error.ts'

/** One cluster on this machine: its name, and the directory that holds all there is of it. */
export interface Instance {
  readonly name: string
  readonly dataDir: string
  /** The name in kubeconfig files. */
  readonly context: string
}

/** Who serves a cluster now. */
export interface RunningServer extends ProcessRecord {
  readonly url: string
  readonly store: string
  /** The kubeconfig that was given a context. */
  readonly kubeconfig?: string
  readonly nodes?: number
  readonly runtime?: NodeRuntime
  /** Only a node of a cluster on another machine, by this name: `url` is there. */
  readonly joinedAs?: string
}

/** What runs pods: all but `simulated`, whose pods exist in the API only, run real ones. `cri` is any CRI socket. */
export type NodeRuntime = 'builtin' | 'containerd' | 'cri' | 'simulated'

/** What the last start chose, so that the next one without flags finds the same. */
export interface Settings extends KubeletChoices {
  readonly apiPort?: number
  readonly store?: string
  readonly etcd?: EtcdFiles
  readonly nodes?: number
  readonly runtime?: NodeRuntime
  readonly runtimeEndpoint?: string
  readonly proxyMode?: string
  readonly network?: string
  /** Where other machines reach the API server; only this machine does unless given. */
  readonly listen?: string
  /** Of the node that this machine is, where it is one itself. */
  readonly nodeName?: string
  readonly files?: SecurityFiles
  readonly featureGates?: readonly FeatureGate[]
}

/** Files that tell how the API server writes down requests, encrypts what it stores and whom it believes. */
export interface SecurityFiles {
  readonly authentication?: string
  readonly auditPolicy?: string
  readonly auditLog?: string
  readonly encryption?: string
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
export const findServer = (instance: Instance) => findOwner<RunningServer>(serverPath(instance))

/** Enters this process as the server of the cluster; throws if another one lives. */
export async function claimServer(instance: Instance, server: RunningServer): Promise<void> {
  const other = await claim(serverPath(instance), server)
  if (other) throw new CliError(`cluster ${instance.name} is already served by process ${other.pid} at ${other.url}`)
}

/** Writes what became known after the claim. Only the owner calls it. */
export const updateServer = (instance: Instance, server: RunningServer) =>
  writeFileAtomically(serverPath(instance), JSON.stringify(server))

/** Removes the entry if it is of this process or of one that is gone. */
export const releaseServer = (instance: Instance, pid: number) => release(serverPath(instance), pid)

export const readSettings = async (instance: Instance): Promise<Settings> =>
  (await readJson<Settings>(settingsPath(instance))) ?? {}

export const writeSettings = (instance: Instance, settings: Settings) =>
  writeFileAtomically(settingsPath(instance), `${JSON.stringify(settings, null, 2)}\n`)
