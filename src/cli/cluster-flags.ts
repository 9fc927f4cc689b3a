import type { Command } from 'commander'

export interface ClusterFlags {
  readonly name?: string
  readonly dataDir?: string
}

/** The flags that say which cluster of this machine a command is about. */
export const addClusterFlags = (command: Command): Command =>
  command
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'its data directory, if it was started with one')
