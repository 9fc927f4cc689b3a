import { constants } from 'node:os'
import type { ContainerStatus } from './messages/container.ts'
import { signalNumber } from './to-cri.ts'

/** For runtimes that do not know the field: who stops the container later has to know. */
export const STOP_SIGNAL_ANNOTATION = 'sampan.dev/stop-signal'

/** The signal that the runtime would not send by itself; undefined if it sends the right one. */
export function unknownStopSignal(status: ContainerStatus): string | undefined {
  const wanted = status.annotations?.[STOP_SIGNAL_ANNOTATION]
  return wanted !== undefined && status.stop_signal !== signalNumber(wanted) ? wanted : undefined
}

/** False if there is no process to take it. */
export function sendSignal(pid: number | undefined, name: string): boolean {
  const [, direction, offset] = /^SIGRTM(IN|AX)[+-]?(\d*)$/.exec(name) ?? []
  const first = constants.signals as unknown as Readonly<Record<string, number>>
  const number = direction === 'IN' ? 34 + Number(offset) : direction === 'AX' ? 64 - Number(offset) : first[name]
  if (!pid || number === undefined) return false
  try {
    return process.kill(pid, number)
  } catch {
    return false
  }
}
