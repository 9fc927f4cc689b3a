import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * When a process started, in whatever form the system has it; undefined if it is gone. Together with the pid this
 * names one process for ever: pids are used again, start times of the same pid are not.
 */
export function processStartTime(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') return linuxStartTime(pid)
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}

/** Field 22 of /proc/PID/stat, and the boot it counts from. The command in parentheses may hold anything. */
function linuxStartTime(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z') return undefined
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  return `${boot}:${fields[19]}`
}
