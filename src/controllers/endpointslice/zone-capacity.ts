import type { Node } from '../../api/generated/core-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { milliValue, parseQuantity } from '../../api/meta/quantity.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { zoneOf } from './pod-endpoint.ts'

/** What a node adds to its zone; nothing if it does not count, `'unknown'` if it hides its zone or its CPU. */
type Share = { readonly zone: string; readonly milliCpu: number } | 'unknown' | undefined

const CONTROL_PLANE_LABELS = ['node-role.kubernetes.io/control-plane', LABEL.master]

/** How the CPU of all ready nodes is spread over zones, kept current node by node. */
export class ZoneCapacity {
  readonly #shares = new Map<string, Exclude<Share, undefined>>()
  readonly #cpu = new Map<string, number>()
  #unknown = 0

  /** Whether anything changed. */
  update(name: string, node: Node | undefined): boolean {
    const old = this.#shares.get(name)
    const current = node && shareOf(node)
    if (isSame(old, current)) return false
    this.#add(old, -1)
    this.#add(current, 1)
    if (current) this.#shares.set(name, current)
    else this.#shares.delete(name)
    return true
  }

  /** Each zone's part of the CPU; undefined if there are not two zones or some node does not tell. */
  ratios(): ReadonlyMap<string, number> | undefined {
    if (this.#unknown > 0 || this.#cpu.size < 2) return undefined
    let total = 0
    for (const cpu of this.#cpu.values()) total += cpu
    return new Map([...this.#cpu].sort().map(([zone, cpu]) => [zone, cpu / total]))
  }

  #add(share: Share, sign: 1 | -1): void {
    if (share === undefined) return
    if (share === 'unknown') {
      this.#unknown += sign
      return
    }
    const cpu = (this.#cpu.get(share.zone) ?? 0) + sign * share.milliCpu
    if (cpu > 0) this.#cpu.set(share.zone, cpu)
    else this.#cpu.delete(share.zone)
  }
}

function shareOf(node: Node): Share {
  const labels = node.metadata.labels ?? {}
  if (CONTROL_PLANE_LABELS.some((label) => labels[label] !== undefined)) return undefined
  if (!isConditionTrue(node.status?.conditions, 'Ready')) return undefined
  const zone = zoneOf(node)
  const cpu = parseQuantity(String(node.status?.allocatable?.cpu ?? '0'))
  const milliCpu = cpu ? milliValue(cpu) : 0
  return zone && milliCpu > 0 ? { zone, milliCpu } : 'unknown'
}

function isSame(a: Share, b: Share): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object') return false
  return a.zone === b.zone && a.milliCpu === b.milliCpu
}
