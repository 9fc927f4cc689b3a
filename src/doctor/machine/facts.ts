/** What `sampan doctor` asks of a machine. */
export interface MachineFacts {
  readonly platform: string
  readonly kernel: string
  readonly nodeVersion: string
  readonly isRoot: boolean
  /** Of the cgroup file system at /sys/fs/cgroup. */
  readonly cgroupVersion: 1 | 2 | undefined
  readonly cgroupControllers: readonly string[]
  /** Namespaces that a process can have: `net`, `mnt`, `user`. */
  readonly namespaces: readonly string[]
  /** How many user namespaces there may be, and whether every user may make one. */
  readonly userNamespaces: { readonly most: number; readonly isForEveryone: boolean }
  readonly fileSystems: readonly string[]
  /** Undefined if only root could tell. */
  readonly hasNftables: boolean | undefined
  readonly iptablesPath: string | undefined
  readonly freeMemoryBytes: number
  readonly freeDiskBytes: number
  /** Undefined while it is not there. */
  readonly dataDir: { readonly path: string; readonly mode: number; readonly isOwn: boolean } | undefined
  readonly apiPort: { readonly number: number; readonly isTaken: boolean }
  /** Undefined if no server runs; its status at /readyz otherwise. */
  readonly server: { readonly pid: number; readonly readyStatus: number } | undefined
}
