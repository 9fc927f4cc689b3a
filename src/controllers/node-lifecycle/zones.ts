import type { Node } from '../../api/generated/core-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption'

/** Milliseconds between two nodes of a zone that are tainted; a large zone that is half down gets ten times as long. */
const USUAL_PAUSE = 10_000
const LONG_PAUSE = 100_000
const LARGE_ZONE = 50
const PARTIAL_SHARE = 0.55
const PARTIAL_MINIMUM = 3

interface Zone {
  readonly nodes: Map<string, boolean>
  notReady: number
  /** When the next node may be tainted. */
  nextAt: number
}

/**
 * How much of each zone is down decides how fast pods are driven away: one dead node is dealt with at once, but if a
 * zone or the whole cluster seems dead, the fault is probably not with the nodes.
 */
export class Zones {
  readonly #zones = new Map<string, Zone>()
  readonly #zoneOf = new Map<string, string>()

  set(node: Node, isReady: boolean): void {
    const { name = '' } = node.metadata
    const id = zoneId(node)
    if (this.#zoneOf.get(name) !== id) this.delete(name)
    this.#zoneOf.set(name, id)
    const zone = this.#zones.get(id) ?? { nodes: new Map(), notReady: 0, nextAt: 0 }
    this.#zones.set(id, zone)
    const before = zone.nodes.get(name)
    if (before === false) zone.notReady--
    if (!isReady) zone.notReady++
    zone.nodes.set(name, isReady)
  }

  delete(name: string): void {
    const id = this.#zoneOf.get(name)
    const zone = id === undefined ? undefined : this.#zones.get(id)
    if (!zone) return
    if (zone.nodes.get(name) === false) zone.notReady--
    zone.nodes.delete(name)
    this.#zoneOf.delete(name)
    if (zone.nodes.size === 0) this.#zones.delete(id!)
  }

  stateOf(name: string): ZoneState {
    const zone = this.#zones.get(this.#zoneOf.get(name) ?? '')
    return zone ? stateOf(zone) : 'Normal'
  }

  /** Nothing answers anywhere: most likely it is this control plane that is cut off. */
  get isAllDown(): boolean {
    if (this.#zones.size === 0) return false
    for (const zone of this.#zones.values()) if (stateOf(zone) !== 'FullDisruption') return false
    return true
  }

  /** Milliseconds until this node may be tainted; 0 takes the turn; undefined: not as long as things are as they are. */
  turnIn(name: string, now: number): number | undefined {
    const zone = this.#zones.get(this.#zoneOf.get(name) ?? '')
    if (!zone) return undefined
    const pause = pauseOf(zone)
    if (pause === undefined || this.isAllDown) return undefined
    if (now < zone.nextAt) return zone.nextAt - now
    zone.nextAt = now + pause
    return 0
  }
}

function stateOf({ nodes, notReady }: Zone): ZoneState {
  if (notReady > 0 && notReady === nodes.size) return 'FullDisruption'
  if (notReady >= PARTIAL_MINIMUM && notReady / nodes.size >= PARTIAL_SHARE) return 'PartialDisruption'
  return 'Normal'
}

/** Undefined: nobody is tainted. */
function pauseOf(zone: Zone): number | undefined {
  if (stateOf(zone) !== 'PartialDisruption') return USUAL_PAUSE
  return zone.nodes.size > LARGE_ZONE ? LONG_PAUSE : undefined
}

function zoneId({ metadata: { labels = {} } }: Node): string {
  const region = labels[LABEL.region] ?? labels[LABEL.betaRegion] ?? ''
  const zone = labels[LABEL.zone] ?? labels[LABEL.betaZone] ?? ''
  return `${region}\0${zone}`
}
