import type { Container, PodSpec, ResourceRequirements } from '../../../generated/core-v1.ts'
import {
  addQuantities,
  canonicalResourceQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from '../../../meta/quantity.ts'

/** Amounts by resource name, as they stand in objects. */
export type ResourceList = Record<string, string | number>

/** Plain numbers and common suffixes are already what the canonical form would be. */
const CANONICAL = /^(?:0|[1-9]\d{0,2}(?:[kMGTPE]|[KMGTPE]i|m)?)$/

/** Rewrites quantities to their one canonical text, so that equal amounts compare equal. */
export function canonicalResources(resources: ResourceRequirements | undefined): void {
  if (resources?.limits) canonicalList(resources.limits)
  if (resources?.requests) canonicalList(resources.requests)
}

function canonicalList(list: ResourceList): void {
  for (const name of Object.keys(list)) {
    const text = String(list[name])
    list[name] = CANONICAL.test(text) ? text : (canonicalResourceQuantity(text) ?? text)
  }
}

/** The same few amounts are asked for again and again. */
const parsed = new Map<string, Quantity | undefined>()
const MAX_PARSED = 2000

export function parseAmount(amount: string | number): Quantity | undefined {
  const text = String(amount)
  const known = parsed.get(text)
  if (known !== undefined) return known
  const quantity = parseQuantity(text)
  if (parsed.size < MAX_PARSED) parsed.set(text, quantity)
  return quantity
}

/** A quantity of an object; undefined when the text is none. */
export const quantityIn = (list: ResourceList | undefined, name: string): Quantity | undefined =>
  list && Object.hasOwn(list, name) ? parseAmount(list[name]!) : undefined

export const isSidecar = (container: Container) => container.restartPolicy === 'Always'

/** What all containers of a pod ask for together: init containers run alone, but beside the sidecars before them. */
export const aggregateRequests = (spec: PodSpec) => aggregate(spec, 'requests')
export const aggregateLimits = (spec: PodSpec) => aggregate(spec, 'limits')

function aggregate(spec: PodSpec, field: 'requests' | 'limits'): Map<string, string> {
  const running = new Map<string, Quantity>()
  for (const container of spec.containers) addList(running, container.resources?.[field])
  const sidecars = new Map<string, Quantity>()
  const starting = new Map<string, Quantity>()
  for (const container of spec.initContainers ?? []) {
    const list = container.resources?.[field]
    if (isSidecar(container)) {
      addList(running, list)
      addList(sidecars, list)
      raiseTo(starting, sidecars)
    } else {
      const now = new Map(sidecars)
      addList(now, list)
      raiseTo(starting, now)
    }
  }
  raiseTo(running, starting)
  return new Map([...running].map(([name, quantity]) => [name, formatQuantity(quantity)]))
}

function addList(sum: Map<string, Quantity>, list: ResourceList | undefined): void {
  for (const name of Object.keys(list ?? {})) {
    const quantity = quantityIn(list, name)
    if (!quantity) continue
    const known = sum.get(name)
    sum.set(name, known ? addQuantities(known, quantity) : quantity)
  }
}

function raiseTo(target: Map<string, Quantity>, floor: Map<string, Quantity>): void {
  for (const [name, quantity] of floor) {
    const known = target.get(name)
    if (!known || compareQuantities(known, quantity) < 0) target.set(name, quantity)
  }
}
