import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeFileAtomically } from '../base/atomic-file.ts'
import { claim, findOwner, type ProcessRecord, readJson, release } from '../base/process-claim.ts'
import { type ClusterConfiguration, fromDocument, type RuntimeKind, toDocument } from './configuration.ts'
import { UserError } from './user-error.ts'

/** One cluster on this machine: its name, and the directory with all of its state. */
export interface Instance {
  readonly name: string
  readonly dataDir: string
  /** The name in kubeconfig files. */
  readonly context: string
}

/** The process that serves a cluster now. */
export interface RunningServer extends ProcessRecord {
  readonly url: string
  readonly store: string
  /** The kubeconfig file that got a context. */
  readonly kubeconfig?: string
  readonly nodes?: number
  readonly runtime?: RuntimeKind
  /** Only a node of a cluster on another machine, by this name: `url` is there. */
  readonly joinedAs?: string
}

const DEFAULT_NAME = 'default'
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export function instanceOf(options: { name?: string; dataDir?: string }, environment = process.env): Instance {
  const name = options.name ?? DEFAULT_NAME
  if (!NAME.test(name)) {
    throw new UserError(
      `${JSON.stringify(name)} is not a name for a cluster`,
      ['Use lower-case letters, digits and dashes.'],
      {
        exitCode: 2,
      },
    )
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
const configurationPath = (instance: Instance) => join(instance.dataDir, 'configuration.json')

/** The live server of this cluster; a file left by a dead one counts for nothing. */
export const findServer = (instance: Instance) => findOwner<RunningServer>(serverPath(instance))

/** Claims the cluster for this process; throws if another process serves it. */
export async function claimServer(instance: Instance, server: RunningServer): Promise<void> {
  const other = await claim(serverPath(instance), server)
  if (other) throw new UserError(`cluster ${instance.name} is already served by process ${other.pid} at ${other.url}`)
}

/** Adds what became known after the claim. Only the owner calls it. */
export const updateServer = (instance: Instance, server: RunningServer) =>
  writeFileAtomically(serverPath(instance), JSON.stringify(server))

/** Removes the entry if it is of this process or of one that is gone. */
export const releaseServer = (instance: Instance, pid: number) => release(serverPath(instance), pid)

/** What the last start had, so that the next one without flags has the same. Throws a `UserError` if it is not valid. */
export async function readSavedConfiguration(instance: Instance): Promise<ClusterConfiguration> {
  const path = configurationPath(instance)
  const document = await readJson<unknown>(path)
  return document === undefined ? {} : fromDocument(document, path)
}

export const saveConfiguration = (instance: Instance, configuration: ClusterConfiguration) =>
  writeFileAtomically(configurationPath(instance), `${JSON.stringify(toDocument(configuration), null, 2)}\n`)
