import { rcodeName, typeName } from '../../wire/constants.ts'
import { encodeReply } from '../../wire/encode.ts'
import type { Query, Reply } from '../../wire/message.ts'
import { SHARED, type TableChange } from './worker-messages.ts'

/** Whoever holds a table of answers and is told what changes. */
export type TableHolder = (change: TableChange) => void

interface Kept {
  readonly key: Uint8Array
  readonly dependsOn: readonly string[]
}

export interface KeptAnswersOptions {
  readonly capacity?: number
  /** Longer answers are not kept. */
  readonly maxSize: number
}

const CAPACITY = 100_000

/** Knows which answers the tables of the workers hold and what each depends on; the oldest go when there are too many. */
export class KeptAnswers {
  readonly #capacity: number
  readonly #maxSize: number
  readonly #kept = new Map<string, Kept>()
  readonly #byDependency = new Map<string, Set<string>>()
  readonly #holders = new Set<TableHolder>()
  readonly #slots = new Map<string, number>()

  constructor({ capacity = CAPACITY, maxSize }: KeptAnswersOptions) {
    this.#capacity = capacity
    this.#maxSize = maxSize
  }

  /** A holder that comes later learns as questions are asked. */
  add(holder: TableHolder): void {
    this.#holders.add(holder)
  }

  remove(holder: TableHolder): void {
    this.#holders.delete(holder)
  }

  /** What each counter of the tables counts: `A NOERROR`. */
  get slots(): ReadonlyMap<string, number> {
    return this.#slots
  }

  keep(query: Query, reply: Reply): void {
    const { keep } = reply
    if (!keep || !isSimple(reply)) return
    const packets = (keep.variants?.() ?? [reply]).map((variant) => this.#encode(query, variant))
    if (packets.some((packet) => (packet[2]! & TRUNCATED) !== 0)) return
    const key = packets[0]!.subarray(HEADER, questionEnd(packets[0]!))
    this.#remember(key, keep.dependsOn)
    const slot = this.#slotOf(`${typeName(query.question.type)} ${rcodeName(reply.rcode)}`)
    for (const holder of this.#holders) holder({ keep: key, packets, slot })
  }

  changed(dependency: string): void {
    const names = this.#byDependency.get(dependency)
    if (names) for (const name of [...names]) this.#forget(name)
  }

  clear(): void {
    this.#kept.clear()
    this.#byDependency.clear()
    for (const holder of this.#holders) holder({ dropAll: true })
  }

  #encode({ question, id }: Query, reply: Reply): Buffer {
    const query = {
      id,
      question,
      asked: question.name,
      recursionDesired: false,
      checkingDisabled: false,
      edns: undefined,
    }
    return encodeReply(query, reply, { maxSize: this.#maxSize, recursionAvailable: true })
  }

  #remember(key: Uint8Array, dependsOn: readonly string[]): void {
    const name = Buffer.from(key).toString('latin1')
    this.#unlink(name)
    if (this.#kept.size >= this.#capacity) this.#forget(this.#kept.keys().next().value!)
    this.#kept.set(name, { key, dependsOn })
    for (const dependency of dependsOn) {
      const names = this.#byDependency.get(dependency)
      if (names) names.add(name)
      else this.#byDependency.set(dependency, new Set([name]))
    }
  }

  #forget(name: string): void {
    const key = this.#unlink(name)
    if (key) for (const holder of this.#holders) holder({ drop: key })
  }

  #unlink(name: string): Uint8Array | undefined {
    const known = this.#kept.get(name)
    if (!known) return undefined
    this.#kept.delete(name)
    for (const dependency of known.dependsOn) {
      const names = this.#byDependency.get(dependency)
      names?.delete(name)
      if (names?.size === 0) this.#byDependency.delete(dependency)
    }
    return known.key
  }

  #slotOf(what: string): number {
    const known = this.#slots.get(what)
    if (known !== undefined) return known
    const slot = Math.min(this.#slots.size, SHARED.hitSlots - 1)
    this.#slots.set(what, slot)
    return slot
  }
}

const HEADER = 12
const TRUNCATED = 0x02

/** The serial of an SOA goes on growing; the table knows where it is only if it stands at the very end. */
function isSimple({ answers, authority, additional }: Reply): boolean {
  if (answers.some(({ data }) => data.type === 'SOA')) return false
  if (authority.length === 0) return true
  return authority.length === 1 && authority[0]!.data.type === 'SOA' && additional.length === 0
}

function questionEnd(packet: Uint8Array): number {
  let at = HEADER
  while (packet[at] !== 0) at += packet[at]! + 1
  return at + 5
}
