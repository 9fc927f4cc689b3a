import { constants } from 'node:os'

const REAL_TIME_FIRST = 34
const REAL_TIME_LAST = 64

/** A name with or without SIG, a number, or RTMIN+3: what Dockerfiles say. SIGTERM if it is none of these. */
export function stopSignal(name: string): number {
  if (/^\d+$/.test(name))
    return Number(name) > 0 && Number(name) <= REAL_TIME_LAST ? Number(name) : constants.signals.SIGTERM
  const plain = name.toUpperCase().replace(/^SIG/, '')
  const realTime = /^RT(MIN|MAX)(?:([+-])(\d+))?$/.exec(plain)
  if (realTime) {
    const base = realTime[1] === 'MIN' ? REAL_TIME_FIRST : REAL_TIME_LAST
    return base + (realTime[2] === '-' ? -1 : 1) * Number(realTime[3] ?? 0)
  }
  return (constants.signals as Record<string, number>)[`SIG${plain}`] ?? constants.signals.SIGTERM
}
