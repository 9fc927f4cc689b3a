import type { Write } from '../store.ts'
import type { WatchStream } from './connection.ts'
import { markerOf } from './keys.ts'

/** The first releases whose answer to a progress request never overtakes events: etcd issue 15220. */
const ORDERED_SINCE: readonly [number, number, number][] = [
  [3, 4, 31],
  [3, 5, 13],
]

/** Whether a progress answer of this version means that everything before it has been sent. */
export function answersInOrder(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const since = ORDERED_SINCE.find((release) => release[0] === major && release[1] === minor)
  if (since) return patch >= since[2]
  return major > 3 || (major === 3 && minor > 5)
}

/** How a watch learns how far it has come although nothing of its prefix changes. */
export interface ProgressRequests {
  request(prefix: string, stream: WatchStream | undefined): void
  /** etcd's answer; `report` is called if it can be trusted. */
  arrived(revision: number, report: (revision: number) => void): void
}

export const progressByAnswer: ProgressRequests = {
  request: (_prefix, stream) => {
    stream?.write({ progress_request: {} })
  },
  arrived: (revision, report) => report(revision),
}

/** Before those releases: a key written into the prefix comes back behind everything before it, and is removed again. */
export function progressByMarker(commit: (write: Write) => Promise<unknown>): ProgressRequests {
  /** The prefixes whose marker is under way, and whether somebody asked again since it was written. */
  const underWay = new Map<string, { again: boolean }>()
  const request = (prefix: string): void => {
    const earlier = underWay.get(prefix)
    if (earlier) {
      earlier.again = true
      return
    }
    const now = { again: false }
    underWay.set(prefix, now)
    const key = markerOf(prefix)
    commit({ key, value: Buffer.alloc(0) })
      .then(() => commit({ key }))
      .catch(() => {})
      .finally(() => {
        underWay.delete(prefix)
        if (now.again) request(prefix)
      })
  }
  return { request, arrived: () => {} }
}
