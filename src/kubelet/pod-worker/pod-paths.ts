import path from 'node:path'
import type { Pod } from '../../api/generated/core-v1.ts'

/** Everything the node keeps of a pod besides its logs. */
export const podDirectory = (rootDir: string, uid: string) => path.join(rootDir, 'pods', uid)

export const hostsFile = (rootDir: string, uid: string) => path.join(podDirectory(rootDir, uid), 'etc-hosts')

/** Where a container leaves its last words; one file for each of its lives. */
export const terminationFile = (rootDir: string, uid: string, container: string, attempt: number) =>
  path.join(podDirectory(rootDir, uid), 'containers', container, String(attempt))

export const subPathTarget = (rootDir: string, uid: string, volume: string, container: string, index: number) =>
  path.join(podDirectory(rootDir, uid), 'volume-subpaths', volume, container, String(index))

export function podLogDirectory(podLogsDir: string, { metadata }: Pod): string {
  return path.join(podLogsDir, `${metadata.namespace}_${metadata.name}_${metadata.uid}`)
}

export const containerLogPath = (container: string, attempt: number) => `${container}/${attempt}.log`
