import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { PodSandbox } from '../pod-network.ts'

/** What must be known of a sandbox after a restart: its addresses are its lease, and what `detach` has to undo. */
export interface SandboxRecord {
  readonly pod: PodSandbox
  readonly addresses: readonly string[]
  /** What plugins answered and were told, if plugins made the network. */
  readonly cni?: unknown
}

/** A container ID as CNI allows them, which is also a safe name of a file. */
const SANDBOX_ID = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,200}$/
const SUFFIX = '.json'

/**
 * One file for each sandbox. They are written whole or not at all, but not synced: after a crash of the machine the network
 * namespaces are gone as well.
 */
export class SandboxRecords {
  readonly #directory: string
  readonly #records = new Map<string, SandboxRecord>()
  /** Sandboxes whose file cannot be read. */
  readonly damaged: readonly string[]

  constructor(directory: string) {
    this.#directory = directory
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.damaged = this.#read()
  }

  get(sandboxId: string): SandboxRecord | undefined {
    return this.#records.get(sandboxId)
  }

  list(): SandboxRecord[] {
    return [...this.#records.values()]
  }

  put(record: SandboxRecord): void {
    const { sandboxId } = record.pod
    const file = this.#fileOf(sandboxId)
    writeFileSync(`${file}.tmp`, JSON.stringify(record), { mode: 0o600 })
    renameSync(`${file}.tmp`, file)
    this.#records.set(sandboxId, record)
  }

  delete(sandboxId: string): void {
    rmSync(this.#fileOf(sandboxId), { force: true })
    this.#records.delete(sandboxId)
  }

  #fileOf(sandboxId: string): string {
    if (!SANDBOX_ID.test(sandboxId)) throw new Error(`${JSON.stringify(sandboxId)} is no ID of a sandbox`)
    return path.join(this.#directory, `${sandboxId}${SUFFIX}`)
  }

  #read(): string[] {
    const damaged: string[] = []
    for (const name of readdirSync(this.#directory)) {
      const file = path.join(this.#directory, name)
      const sandboxId = name.slice(0, -SUFFIX.length)
      if (!name.endsWith(SUFFIX)) rmSync(file, { force: true })
      else if (!this.#readRecord(file, sandboxId)) damaged.push(sandboxId)
    }
    return damaged
  }

  #readRecord(file: string, sandboxId: string): boolean {
    try {
      const record = JSON.parse(readFileSync(file, 'utf8')) as SandboxRecord
      if (record.pod.sandboxId !== sandboxId || !Array.isArray(record.addresses)) return false
      this.#records.set(sandboxId, record)
      return true
    } catch {
      return false
    }
  }
}
