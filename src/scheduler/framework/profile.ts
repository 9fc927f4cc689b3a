import type { PluginArgs, SchedulerPlugin } from '../plugin.ts'

export interface EnabledPlugin {
  readonly plugin: SchedulerPlugin
  /** 0 for one that does not score. */
  readonly weight: number
  readonly args: PluginArgs
}

/** How pods that name a scheduler are scheduled: which plugins, in which order. */
export interface Profile {
  readonly schedulerName: string
  readonly plugins: readonly EnabledPlugin[]
}
