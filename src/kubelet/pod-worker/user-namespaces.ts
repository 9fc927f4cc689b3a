import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Pod } from '../../api/generated/core-v1.ts'
import type { IdMapping, NamespaceOptions } from '../../container-runtime/sandbox-config.ts'
import { podDirectory } from './pod-paths.ts'

/** Every pod sees as many ids as most programs can count; those of the node itself come first. */
const LENGTH = 65_536
const RANGES = 2 ** 32 / LENGTH
const FILE = 'userns'

type UserMapping = NonNullable<NamespaceOptions['user']>

interface Written {
  readonly uidMappings: readonly IdMapping[]
  readonly gidMappings: readonly IdMapping[]
}

/** Ids of the node for pods with users of their own (KEP-127): no two pods share any. A file in the pod's folder remembers. */
export class UserNamespaces {
  readonly #rootDir: string
  readonly #ranges = new Map<string, number>()

  constructor(rootDir: string) {
    this.#rootDir = rootDir
    for (const uid of podsIn(rootDir)) {
      const range = readRange(path.join(podDirectory(rootDir, uid), FILE))
      if (range !== undefined) this.#ranges.set(uid, range)
    }
  }

  /** Undefined for a pod that shares the users of the node. */
  of({ spec, metadata }: Pod): UserMapping | undefined {
    if (spec?.hostUsers !== false) return undefined
    const { uid = '' } = metadata
    const mapping = [{ containerId: 0, hostId: (this.#ranges.get(uid) ?? this.#take(uid)) * LENGTH, length: LENGTH }]
    return { uids: mapping, gids: mapping }
  }

  /** The pod is gone, with its folder. */
  forget(uid: string): void {
    this.#ranges.delete(uid)
  }

  #take(uid: string): number {
    const taken = new Set(this.#ranges.values())
    let range = 1
    while (taken.has(range)) range++
    if (range >= RANGES) throw new Error('could not find an empty slot to allocate a user namespace')
    const mapping = [{ containerId: 0, hostId: range * LENGTH, length: LENGTH }]
    const folder = podDirectory(this.#rootDir, uid)
    mkdirSync(folder, { recursive: true })
    const written: Written = { uidMappings: mapping, gidMappings: mapping }
    writeFileSync(path.join(folder, FILE), JSON.stringify(written), { mode: 0o600 })
    this.#ranges.set(uid, range)
    return range
  }
}

function podsIn(rootDir: string): string[] {
  try {
    return readdirSync(path.join(rootDir, 'pods'))
  } catch {
    return []
  }
}

/** What was not written whole was never told to a runtime. */
function readRange(file: string): number | undefined {
  try {
    const { uidMappings } = JSON.parse(readFileSync(file, 'utf8')) as Written
    const { hostId = 0 } = uidMappings[0] ?? {}
    return hostId > 0 && hostId % LENGTH === 0 ? hostId / LENGTH : undefined
  } catch {
    return undefined
  }
}
