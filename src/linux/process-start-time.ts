import { readFileSync } from 'node:fs'

/** When a process began, in the kernel's ticks: with it a process is told from a later one that has its number. */
export function processStartTime(pid: number): { readonly startTime?: string } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold blanks and brackets; the 22nd field is the 20th after it.
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return startTime === undefined ? {} : { startTime }
  } catch {
    return {}
  }
}
