import type { Pod, PodSpec } from '../../../generated/core-v1.ts'
import { addQuantities, parseQuantity, type Quantity, quantityOf } from '../../../meta/quantity.ts'
import { parseTime } from '../../../meta/time.ts'
import { aggregateLimits, aggregateRequests } from '../pod/resources.ts'
import { quantityIn } from '../resource-list.ts'

import { isHugePages } from '../resource-names.ts'

const COMPUTE = new Set(['cpu', 'memory', 'ephemeral-storage'])
/** Of a domain that is not Kubernetes' own: `example.com/gpu`. */
const isExtended = (name: string) => name.includes('/') && !name.includes('kubernetes.io/')

/** A pod that has ended, or should have, uses nothing of a node any more. */
export function podUsage(pod: Pod, now: number, usage: Map<string, Quantity>): void {
  if (!pod.spec || hasEnded(pod, now)) return
  usage.set('pods', quantityOf(1))
  for (const [name, amount] of totals(pod.spec, 'requests')) {
    if (COMPUTE.has(name) || isHugePages(name)) usage.set(name, amount)
    if (COMPUTE.has(name) || isHugePages(name) || isExtended(name)) usage.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of totals(pod.spec, 'limits')) if (COMPUTE.has(name)) usage.set(`limits.${name}`, amount)
}

function hasEnded({ metadata, status }: Pod, now: number): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return true
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false
  return now > (parseTime(deletionTimestamp) ?? now) + deletionGracePeriodSeconds * 1000
}

/** Of all containers, replaced by what the pod as a whole asks for, plus the overhead of running it. */
function totals(spec: PodSpec, field: 'requests' | 'limits'): Map<string, Quantity> {
  const sums = new Map<string, Quantity>()
  for (const [name, text] of field === 'requests' ? aggregateRequests(spec) : aggregateLimits(spec)) {
    const amount = parseQuantity(text)
    if (amount) sums.set(name, amount)
  }
  const ofPod = spec.resources?.[field]
  for (const name of Object.keys(ofPod ?? {})) {
    const amount = quantityIn(ofPod, name)
    if (amount) sums.set(name, amount)
  }
  for (const name of Object.keys(spec.overhead ?? {})) {
    const overhead = quantityIn(spec.overhead, name)
    const known = sums.get(name)
    // Overhead raises a limit that is there; it sets none.
    if (overhead && (known || field === 'requests')) sums.set(name, known ? addQuantities(known, overhead) : overhead)
  }
  return sums
}
