import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { type IntOrString, scaledValue } from '../../api/meta/int-or-string.ts'
import { isTerminating } from '../pod-control/pod-state.ts'
import { revisionOf, startOrdinal } from './identity.ts'
import { isUnavailable } from './status.ts'

/** A place in a set: an ordinal, and its pod if there is one. */
export interface Slot {
  readonly ordinal: number
  readonly pod: Pod | undefined
}

/** The pods to delete now, so that they come back in the revision `update`: the highest ordinals first. */
export function podsToUpdate(set: StatefulSet, slots: readonly Slot[], update: string, now: number): Pod[] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  if (type === 'OnDelete') return []
  const lowest = startOrdinal(set) + (rollingUpdate?.partition ?? 0)
  const candidates = slots.filter((slot) => slot.ordinal >= lowest).reverse()
  const isDown = ({ pod }: Slot) => !pod || isUnavailable(set, pod, now)
  const isOld = ({ pod }: Slot) => pod !== undefined && revisionOf(pod) !== update && !isTerminating(pod)
  if (rollingUpdate?.maxUnavailable === undefined) {
    const next = candidates.find((slot) => isOld(slot) || isDown(slot))
    return next && isOld(next) ? [next.pod!] : []
  }
  let budget = maxUnavailable(rollingUpdate.maxUnavailable, slots.length) - slots.filter(isDown).length
  // One that is down already is missed by nobody: replacing it may be what gets the update unstuck.
  return candidates.filter((slot) => isOld(slot) && (isDown(slot) || budget-- > 0)).map((slot) => slot.pod!)
}

const maxUnavailable = (value: IntOrString, replicas: number) => Math.max(1, scaledValue(value, replicas, 'down') ?? 1)
