/** The kernel's machine for rules, for one packet: registers, verdicts, sets. */
import type { NftExpression, NftRegister, NftVerdict } from '../../linux/nft-expressions.ts'
import { lengthOf } from '../../linux/nft-values.ts'
import type { NftElement, NftRule, NftSet } from '../../linux/nftables.ts'

export interface TracedTable {
  readonly rules: ReadonlyMap<string, readonly NftRule[]>
  readonly sets: ReadonlyMap<string, { readonly set: NftSet; readonly elements: readonly NftElement[] }>
}

export interface PacketState {
  source: Buffer
  destination: Buffer
  readonly protocol: number
  port: number
  mark: number
  readonly inputInterface: string
  dnat: boolean
  masqueraded: boolean
}

export interface MachineOptions {
  /** Whether the address is one of the node. */
  isLocal(address: Buffer): boolean
  /** A number below `modulus`. */
  choose(modulus: number): number
  seen(comment: string): void
}

export type Verdict = 'accept' | 'drop' | 'reject' | 'continue'

const FIB_LOCAL = 2
const FIB_UNICAST = 1
const CT_STATE_NEW = 8
const CT_STATUS_DNAT = 32
const REGISTER_BYTES = 4

type Step = Verdict | 'return' | 'break' | { readonly jump: string; readonly isGoto: boolean } | undefined

export class PacketMachine {
  readonly #table: TracedTable
  readonly #packet: PacketState
  readonly #options: MachineOptions
  readonly #registers = Buffer.alloc(16 * REGISTER_BYTES)

  constructor(table: TracedTable, packet: PacketState, options: MachineOptions) {
    this.#table = table
    this.#packet = packet
    this.#options = options
  }

  /** 'continue': the chain came to its end. */
  run(chain: string): Verdict {
    for (const rule of this.#table.rules.get(chain) ?? []) {
      const step = this.#rule(rule)
      if (step === 'break' || step === undefined || step === 'continue') continue
      if (step === 'return') return 'continue'
      if (typeof step === 'string') return step
      const verdict = this.run(step.jump)
      if (verdict !== 'continue' || step.isGoto) return verdict
    }
    return 'continue'
  }

  #rule({ expressions, comment }: NftRule): Step {
    for (const expression of expressions) {
      const step = this.#evaluate(expression)
      if (step === 'break') return 'break'
      if (step !== undefined) {
        if (comment !== undefined) this.#options.seen(comment)
        return step
      }
    }
    return undefined
  }

  #evaluate(e: NftExpression): Step {
    switch (e.expr) {
      case 'payload':
        return this.#store(e.to, this.#payload(e.base, e.offset, e.length))
      case 'meta':
        return this.#store(e.to, this.#meta(e.key))
      case 'ct':
        return this.#store(e.to, word(this.#conntrack(e.key)))
      case 'fib-type': {
        const address = e.of === 'source' ? this.#packet.source : this.#packet.destination
        return this.#store(e.to, word(this.#options.isLocal(address) ? FIB_LOCAL : FIB_UNICAST))
      }
      case 'immediate':
        return this.#store(e.to, e.value)
      case 'bitwise':
        return this.#store(
          e.to,
          this.#load(e.from, e.mask.length).map((byte, i) => (byte & e.mask[i]!) ^ e.xor[i]!),
        )
      case 'compare': {
        const isEqual = Buffer.compare(this.#load(e.from, e.value.length), e.value) === 0
        return isEqual === (e.op === 'eq') ? undefined : 'break'
      }
      case 'number':
        return this.#store(e.to, word(this.#options.choose(e.modulus) + (e.offset ?? 0)))
      case 'meta-set':
        this.#packet.mark = this.#load(e.from, REGISTER_BYTES).readUInt32LE(0)
        return undefined
      case 'lookup':
        return (this.#find(e.set, e.from) !== undefined) === !e.inverted ? undefined : 'break'
      case 'map': {
        const found = this.#find(e.set, e.from)
        return found ? this.#store(e.to, found.data!) : 'break'
      }
      case 'verdict-map': {
        const found = this.#find(e.set, e.from)
        if (found?.comment !== undefined) this.#options.seen(found.comment)
        return found ? stepOf(found.verdict!) : 'break'
      }
      case 'verdict':
        return stepOf(e)
      case 'reject':
        return 'reject'
      case 'nat':
        return this.#nat(e.address, e.port, e.type)
      case 'masquerade':
        this.#packet.masqueraded = true
        return 'accept'
      case 'set-update':
        return undefined
      default:
        throw new Error(`the tracer does not know the expression ${e.expr}`)
    }
  }

  #nat(address: NftRegister, port: NftRegister | undefined, type: 'source' | 'destination'): Step {
    if (type === 'source') throw new Error('the tracer does not know source NAT to an address')
    this.#packet.destination = Buffer.from(this.#load(address, this.#packet.destination.length))
    if (port !== undefined) this.#packet.port = this.#load(port, 2).readUInt16BE(0)
    this.#packet.dnat = true
    return 'accept'
  }

  #payload(base: string, offset: number, length: number): Buffer {
    if (base === 'transport' && offset === 2 && length === 2) {
      const bytes = Buffer.alloc(2)
      bytes.writeUInt16BE(this.#packet.port)
      return bytes
    }
    const isSource = offset === (length === 4 ? 12 : 8)
    return isSource ? this.#packet.source : this.#packet.destination
  }

  /** Packets here are the first of their connections. */
  #conntrack(key: string): number {
    if (key === 'state') return CT_STATE_NEW
    if (key === 'status') return this.#packet.dnat ? CT_STATUS_DNAT : 0
    throw new Error(`the tracer does not know ct ${key}`)
  }

  #meta(key: string): Uint8Array {
    switch (key) {
      case 'mark':
        return word(this.#packet.mark)
      case 'l4proto':
        return Buffer.from([this.#packet.protocol])
      case 'iifname': {
        const bytes = Buffer.alloc(16)
        bytes.write(this.#packet.inputInterface, 0, 15)
        return bytes
      }
      default:
        throw new Error(`the tracer does not know meta ${key}`)
    }
  }

  /** A value fills whole registers: what it does not reach is zero. */
  #store(register: NftRegister, value: Uint8Array): undefined {
    const start = register * REGISTER_BYTES
    this.#registers.fill(0, start, start + Math.ceil(value.length / REGISTER_BYTES) * REGISTER_BYTES)
    this.#registers.set(value, start)
  }

  #load(register: NftRegister, length: number): Buffer {
    return this.#registers.subarray(register * REGISTER_BYTES, register * REGISTER_BYTES + length)
  }

  #find(name: string, from: NftRegister): NftElement | undefined {
    const { set, elements } = this.#table.sets.get(name)!
    const key = this.#load(from, lengthOf(set.key))
    return elements.find((element) => matches(set, element, key))
  }
}

/** Each part of a concatenation must be in its own range; parts begin at registers. */
function matches(set: NftSet, { key: first, keyEnd: last = first }: NftElement, key: Buffer): boolean {
  let at = 0
  for (const type of set.key) {
    const length = lengthOf([type])
    const part = key.subarray(at, at + length)
    if (Buffer.compare(part, first.subarray(at, at + length)) < 0) return false
    if (Buffer.compare(part, last.subarray(at, at + length)) > 0) return false
    at += Math.ceil(length / REGISTER_BYTES) * REGISTER_BYTES
  }
  return true
}

function stepOf(verdict: NftVerdict): Step {
  switch (verdict.verdict) {
    case 'jump':
    case 'goto':
      return { jump: verdict.chain, isGoto: verdict.verdict === 'goto' }
    default:
      return verdict.verdict
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(REGISTER_BYTES)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
