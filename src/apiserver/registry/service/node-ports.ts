import type { Service } from '../../../api/generated/core-v1.ts'
import type { Random } from '../../../base/random.ts'
import type { Entry, Store } from '../../../store/store.ts'
import type { Claims } from './claims.ts'
import { type Band, drawOffset, RecentDraws, reservedPart } from './draw.ts'
import { KeyView } from './key-view.ts'
import { OffsetSet } from './offset-set.ts'

export const NODE_PORT_PREFIX = '/ranges/nodeports/'
export const nodePortKey = (port: number) => NODE_PORT_PREFIX + port

export interface PortRange {
  readonly from: number
  /** Included. */
  readonly to: number
}

export const DEFAULT_NODE_PORT_RANGE: PortRange = { from: 30000, to: 32767 }

/** Whose a node port is, as it is stored. */
export interface NodePortOwner {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export const nodePortOwner = (service: Service): NodePortOwner => ({
  namespace: service.metadata.namespace ?? '',
  name: service.metadata.name ?? '',
  uid: service.metadata.uid ?? '',
})

export const encodeNodePortOwner = (owner: NodePortOwner) => Buffer.from(JSON.stringify(owner))

export const decodeNodePortOwner = (entry: Entry) => JSON.parse(entry.value.toString()) as NodePortOwner

const RESERVED = { share: 32, least: 16, most: 128 }

/** Why a port cannot be had, in the words users know. */
export type Refusal = string

/** Gives Services ports that every node listens on. One key of the store is one port taken. */
export class NodePorts implements Disposable {
  readonly #random: Random
  readonly #range: PortRange
  readonly #band: Band
  readonly #used = new OffsetSet()
  readonly #view: KeyView
  readonly #recent = new RecentDraws()

  constructor(store: Store, range: PortRange, random: Random) {
    this.#random = random
    this.#range = range
    const size = Math.max(range.to - range.from + 1, 0)
    this.#band = { size, reserved: reservedPart(size, RESERVED) }
    this.#view = new KeyView(store, NODE_PORT_PREFIX, {
      reset: (entries) => {
        this.#used.clear()
        for (const entry of entries) this.#mark(entry.key, true)
      },
      apply: (changes) => {
        for (const change of changes) this.#mark(change.key, change.entry !== undefined)
      },
    })
  }

  /** Undefined if the port was had. */
  async take(claims: Claims, service: Service, port: number): Promise<Refusal | undefined> {
    const { from, to } = this.#range
    if (port < from || port > to) {
      return `provided port is not in the valid range. The range of valid ports is ${from}-${to}`
    }
    if (await claims.isTaken(nodePortKey(port))) return 'provided port is already allocated'
    this.#claim(claims, service, port)
    return undefined
  }

  /** Undefined if every port is taken. */
  async takeAny(claims: Claims, service: Service): Promise<number | undefined> {
    await this.#view.synced()
    let port = await this.#draw(claims)
    if (port === undefined) {
      await this.#view.refresh()
      port = await this.#draw(claims)
    }
    if (port !== undefined) this.#claim(claims, service, port)
    return port
  }

  async release(claims: Claims, service: Service, port: number): Promise<void> {
    const { namespace, name, uid } = nodePortOwner(service)
    await claims.release(nodePortKey(port), (entry) => {
      const owner = decodeNodePortOwner(entry)
      return owner.namespace === namespace && owner.name === name && owner.uid === uid
    })
  }

  async #draw(claims: Claims): Promise<number | undefined> {
    const refused = new Set<number>()
    const isRecent = (offset: number) => this.#recent.has(nodePortKey(this.#range.from + offset))
    for (;;) {
      const offset = drawOffset(this.#band, this.#used, refused, isRecent, this.#random)
      if (offset === undefined) return undefined
      const port = this.#range.from + offset
      if (!(await claims.isTaken(nodePortKey(port)))) return port
      refused.add(offset)
    }
  }

  #claim(claims: Claims, service: Service, port: number): void {
    this.#recent.add(nodePortKey(port))
    claims.take(nodePortKey(port), { value: encodeNodePortOwner(nodePortOwner(service)) })
  }

  #mark(key: string, isUsed: boolean): void {
    const offset = Number(key.slice(NODE_PORT_PREFIX.length)) - this.#range.from
    if (!(offset >= 0 && offset < this.#band.size)) return
    if (isUsed) this.#used.add(offset)
    else this.#used.delete(offset)
  }

  [Symbol.dispose](): void {
    this.#view[Symbol.dispose]()
  }
}
