import type { Credentials } from '../tests/tools/api.ts'

/** What a load process is asked to do, over its standard input. */
export type LoadJob = { server: string; credentials?: Credentials; clients: number } & (
  | { kind: 'create'; path: string; from: number; count: number; size: number }
  | { kind: 'get'; paths: string[]; count: number }
  | { kind: 'etcd-put'; from: number; count: number; size: number }
  | {
      kind: 'watch'
      path: string
      target: string
      watchers: number
      /** Watchers that share a connection. */
      perConnection: number
      writesPerSecond: number
      seconds: number
      size: number
      /** Whose CPU is measured, from the first write on: opening the connections does not count. */
      serverPid: number
    }
)

export interface LoadResult {
  operations: number
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
  bytes: number
  /** Microseconds that the server and this client spent on a watch. */
  cpu?: { server: number; client: number }
}
