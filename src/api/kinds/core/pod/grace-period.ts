import type { Pod } from '../../../generated/core-v1.ts'

const DEFAULT_SECONDS = 30

/** How long a pod may take to end: what was asked for, else its own wish, and nothing where nothing runs. */
export function podGracePeriod(pod: Pod, requested: number | undefined): number {
  const wish = requested ?? pod.spec?.terminationGracePeriodSeconds ?? DEFAULT_SECONDS
  const phase = pod.status?.phase
  if (!pod.spec?.nodeName || phase === 'Failed' || phase === 'Succeeded') return 0
  // A negative wish stands for the shortest one that still lets the node say goodbye.
  return wish < 0 ? 1 : wish
}
