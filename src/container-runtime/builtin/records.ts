/**
 * What the runtime knows, in files: a folder per sandbox and per container. A file is replaced as a whole, so a process
 * that is killed leaves the old or the new. Nothing is synced: a machine that loses power loses its containers too.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { processStartTime } from '../../base/process-identity.ts'
import { removeTree } from '../../linux/remove-tree.ts'
import type { ContainerConfig, SeccompProfile } from '../container-config.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import type { Identity } from './identity.ts'

export interface SandboxRecord {
  readonly id: string
  readonly config: PodSandboxConfig
  readonly createdAt: number
  readonly bootId: string
  readonly ips: readonly string[]
  readonly netnsPath?: string
  readonly stopped: boolean
}

export interface ContainerRecord {
  readonly id: string
  readonly sandboxId: string
  readonly config: ContainerConfig
  readonly createdAt: number
  readonly bootId: string
  readonly logPath: string
  readonly cgroup: string
}

export interface StartRecord {
  readonly pid: number
  /** Tells the process from a later one with the same number. */
  readonly startTime?: string
  readonly startedAt: number
  readonly stopSignal: string
  /** What a command executed in the container runs with too. */
  readonly process: ProcessSettings
  /** Where the container's terminal can be had from: a process, and the descriptor in it. */
  readonly terminal?: { readonly pid: number; readonly descriptor: number }
}

/** Whether the process with this number is still the container's. */
export const isStillThere = ({ pid, startTime }: StartRecord) =>
  startTime === undefined || processStartTime(pid) === startTime

export interface ProcessSettings {
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly cwd: string
  readonly identity: Identity
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly seccomp: SeccompProfile
}

export interface ExitRecord {
  readonly exitCode: number
  readonly finishedAt: number
  readonly reason: string
  readonly message?: string
}

export class Records {
  readonly root: string

  constructor(root: string) {
    this.root = root
    mkdirSync(path.join(root, 'sandboxes'), { recursive: true, mode: 0o711 })
    mkdirSync(path.join(root, 'containers'), { recursive: true, mode: 0o711 })
  }

  sandboxFolder = (id: string) => path.join(this.root, 'sandboxes', id)
  containerFolder = (id: string) => path.join(this.root, 'containers', id)
  sandboxIds = () => readdirSync(path.join(this.root, 'sandboxes'))
  containerIds = () => readdirSync(path.join(this.root, 'containers'))
}

export function writeRecord(folder: string, name: string, record: object): void {
  const file = path.join(folder, `${name}.json`)
  writeFileSync(`${file}.tmp`, JSON.stringify(record), { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}

/** Undefined if it is not there or, after a crash of the machine, not whole. */
export function readRecord<T>(folder: string, name: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8')) as T
  } catch {
    return undefined
  }
}

export const renameRecord = (folder: string, from: string, to: string) =>
  renameSync(path.join(folder, `${from}.json`), path.join(folder, `${to}.json`))

/** A shim may just be writing down how its container ended: what is added meanwhile is removed too. */
export const removeFolder = removeTree

/** Another one after every start of the machine: what ran before does not run now. */
export function currentBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
