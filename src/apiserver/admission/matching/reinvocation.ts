import type { AdmissionRequest } from '../plugin.ts'

/** Notes of those who change objects from outside, about one request. */
export interface Reinvocation {
  /** 0 the first time, 1 when all are asked once more because one of them changed the object. */
  round: number
  /** Somebody changed the object in this round: the built-in plugins have to see it again. */
  isNeeded: boolean
  /** Those who were asked and want to see the object again if somebody after them changed it. */
  readonly waiting: Set<string>
  /** Those of them for whom that happened. */
  readonly due: Set<string>
}

const notes = new WeakMap<AdmissionRequest, Reinvocation>()

export function reinvocationOf(request: AdmissionRequest): Reinvocation {
  let found = notes.get(request)
  if (!found) {
    found = { round: 0, isNeeded: false, waiting: new Set(), due: new Set() }
    notes.set(request, found)
  }
  return found
}

/** Somebody changed the object: whoever saw it before and cares has to see it again. */
export function noteChange(reinvocation: Reinvocation): void {
  reinvocation.isNeeded = true
  for (const name of reinvocation.waiting) reinvocation.due.add(name)
}

/** Whether all have to be asked once more; there is one more round at most. */
export function beginsAgain(request: AdmissionRequest): boolean {
  const found = notes.get(request)
  if (!found?.isNeeded || found.round > 0) return false
  found.round = 1
  return true
}
