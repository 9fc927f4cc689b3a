import type { CertificateFact } from '../facts.ts'

const DAY = 86_400_000
const RENEWAL_WINDOW_DAYS = 7

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

/** Whether it is good for another week at least: those that are renewed always are. */
export function isFresh({ subject, notBefore, notAfter }: CertificateFact, now: number) {
  return {
    isGood: now >= notBefore - DAY && notAfter - now > RENEWAL_WINDOW_DAYS * DAY,
    evidence: `${subject} from ${dayOf(notBefore)} to ${dayOf(notAfter)}`,
  }
}
