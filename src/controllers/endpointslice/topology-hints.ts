import type { Endpoint } from '../../api/generated/discovery-v1.ts'
import type { PlannedSlice } from './slice-set.ts'

/** No endpoint shall get more than this share of load beyond its fair part (KEP-2433). */
const OVERLOAD_THRESHOLD = 0.2

interface Allocation {
  readonly minimum: number
  readonly desired: number
  readonly maximum: number
}

const NO_NODE_INFORMATION = 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'
const NO_ZONE = 'One or more endpoints do not have a zone specified'
const isReady = (endpoint: Endpoint) => endpoint.conditions?.ready === true

/**
 * Gives each ready endpoint a zone to serve, so that zones get endpoints in proportion to their CPU. Slices whose hints
 * still do are left alone. Says why not if it cannot be done, and then takes all hints away.
 */
export function assignTopologyHints(
  slices: Iterable<PlannedSlice>,
  ratios: ReadonlyMap<string, number> | undefined,
): string | undefined {
  const all = [...slices]
  const count = all.reduce((sum, slice) => sum + slice.endpoints.filter(isReady).length, 0)
  const allocations = allocate(count, ratios)
  const problem =
    typeof allocations === 'string'
      ? allocations
      : all.some((slice) => slice.endpoints.some((endpoint) => isReady(endpoint) && !endpoint.zone))
        ? NO_ZONE
        : undefined
  if (problem !== undefined) {
    removeHints(all)
    return problem
  }
  distribute(all, allocations as ReadonlyMap<string, Allocation>)
  return undefined
}

function removeHints(slices: Iterable<PlannedSlice>): void {
  for (const slice of slices) {
    if (slice.endpoints.some((endpoint) => endpoint.hints)) {
      const endpoints = slice.endpoints.map(({ hints: _, ...endpoint }) => endpoint)
      Object.assign(slice, { endpoints, isChanged: true })
    }
  }
}

function allocate(
  count: number,
  ratios: ReadonlyMap<string, number> | undefined,
): ReadonlyMap<string, Allocation> | string {
  if (!ratios) return NO_NODE_INFORMATION
  const figures = `(${count} endpoints, ${ratios.size} zones)`
  if (ratios.size > count) return `Insufficient number of endpoints ${figures}`
  const minima = [...ratios].map(([zone, ratio]) => {
    const minimum = Math.ceil((ratio * count) / (1 + OVERLOAD_THRESHOLD))
    return { zone, minimum, desired: Math.max(ratio * count, minimum) }
  })
  const spare = minima.reduce((rest, { minimum }) => rest - minimum, count)
  if (spare < 0)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${figures}`
  return new Map(
    minima.map(({ zone, minimum, desired }) => [zone, { minimum, desired, maximum: minimum + spare }] as const),
  )
}

function distribute(slices: readonly PlannedSlice[], allocations: ReadonlyMap<string, Allocation>): void {
  const allocated = new Map<string, number>()
  const free: PlannedSlice[] = []
  for (const slice of slices) {
    const hints = slice.isChanged ? undefined : usableHints(slice, allocated, allocations)
    if (hints) for (const [zone, count] of hints) allocated.set(zone, (allocated.get(zone) ?? 0) + count)
    else free.push(slice)
  }
  const zones = new Map<Endpoint, string>()
  for (const { endpoints } of free) {
    for (const endpoint of endpoints) {
      if (!isReady(endpoint)) continue
      zones.set(endpoint, endpoint.zone!)
      allocated.set(endpoint.zone!, (allocated.get(endpoint.zone!) ?? 0) + 1)
    }
  }
  redistribute(zones, transfers(allocations, allocated))
  for (const slice of free) setHints(slice, zones)
}

/** How many endpoints each zone serves by a slice's present hints; undefined if these cannot stay. */
function usableHints(
  slice: PlannedSlice,
  allocated: ReadonlyMap<string, number>,
  allocations: ReadonlyMap<string, Allocation>,
): Map<string, number> | undefined {
  const counts = new Map<string, number>()
  for (const endpoint of slice.endpoints) {
    if (!isReady(endpoint)) continue
    const zones = endpoint.hints?.forZones ?? []
    if (zones.length === 0) return undefined
    for (const { name } of zones) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  for (const [zone, count] of counts) {
    const allocation = allocations.get(zone)
    if (!allocation || count + (allocated.get(zone) ?? 0) > allocation.maximum) return undefined
  }
  return counts
}

/** Which zones give endpoints away and which receive them; each list repeats a zone per endpoint. */
function transfers(allocations: ReadonlyMap<string, Allocation>, allocated: ReadonlyMap<string, number>) {
  const surplus = new Map<string, number>()
  for (const [zone, { desired }] of allocations) surplus.set(zone, (allocated.get(zone) ?? 0) - desired)
  const giving = new Map<string, number>()
  const receiving: string[] = []
  for (;;) {
    const [richest, most] = [...surplus].reduce((best, entry) => (entry[1] > best[1] ? entry : best), ['', 0])
    const [poorest, least] = [...surplus].reduce((best, entry) => (entry[1] < best[1] ? entry : best), ['', 0])
    if (most < 0.5 || -least < 0.5 || (most < 1 && -least < 1)) return { giving, receiving }
    giving.set(richest, (giving.get(richest) ?? 0) + 1)
    receiving.push(poorest)
    surplus.set(richest, most - 1)
    surplus.set(poorest, least + 1)
  }
}

function redistribute(
  zones: Map<Endpoint, string>,
  { giving, receiving }: { giving: Map<string, number>; receiving: string[] },
): void {
  let next = 0
  for (const [endpoint, zone] of zones) {
    if (next === receiving.length) return
    const left = giving.get(zone) ?? 0
    if (left === 0) continue
    giving.set(zone, left - 1)
    zones.set(endpoint, receiving[next++]!)
  }
}

function setHints(slice: PlannedSlice, zones: ReadonlyMap<Endpoint, string>): void {
  let isChanged = false
  const endpoints = slice.endpoints.map((endpoint) => {
    const zone = zones.get(endpoint)
    const hinted = endpoint.hints?.forZones ?? []
    if (zone === undefined ? !endpoint.hints : hinted.length === 1 && hinted[0]!.name === zone) return endpoint
    isChanged = true
    const { hints: _, ...rest } = endpoint
    return zone === undefined ? rest : { ...rest, hints: { forZones: [{ name: zone }] } }
  })
  if (isChanged) Object.assign(slice, { endpoints, isChanged: true })
}
