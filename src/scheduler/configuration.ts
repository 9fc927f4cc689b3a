import type { EnabledPlugin, Profile } from './framework/profile.ts'
import type { PluginArgs, SchedulerPlugin } from './plugin.ts'
import type { ListedPlugin } from './plugins.ts'

/** The parts of KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) that mean something here. */
export interface SchedulerConfiguration {
  readonly profiles?: readonly SchedulerProfile[]
  readonly podInitialBackoffSeconds?: number
  readonly podMaxBackoffSeconds?: number
  /** Plugins of your own, for every profile unless it disables them. */
  readonly plugins?: readonly SchedulerPlugin[]
}

export interface SchedulerProfile {
  readonly schedulerName?: string
  /** By extension point, of which `multiPoint` means all. */
  readonly plugins?: {
    readonly multiPoint?: PluginSet
    readonly filter?: PluginSet
    readonly score?: PluginSet
    readonly postFilter?: PluginSet
  }
  readonly pluginConfig?: readonly { readonly name: string; readonly args: PluginArgs }[]
}

export interface PluginSet {
  readonly enabled?: readonly { readonly name: string; readonly weight?: number }[]
  /** `*` for all. */
  readonly disabled?: readonly { readonly name: string }[]
}

export const DEFAULT_SCHEDULER_NAME = 'default-scheduler'

/** Profiles by the scheduler name of pods. */
export function resolveProfiles(
  configuration: SchedulerConfiguration,
  defaults: readonly ListedPlugin[],
): ReadonlyMap<string, Profile> {
  const own = (configuration.plugins ?? []).map((plugin) => ({ plugin, weight: plugin.score ? 1 : 0 }))
  const profiles = configuration.profiles?.length ? configuration.profiles : [{}]
  return new Map(
    profiles.map((profile) => {
      const schedulerName = profile.schedulerName ?? DEFAULT_SCHEDULER_NAME
      return [schedulerName, { schedulerName, plugins: resolvePlugins(profile, [...defaults, ...own]) }]
    }),
  )
}

function resolvePlugins(profile: SchedulerProfile, known: readonly ListedPlugin[]): EnabledPlugin[] {
  const { multiPoint, filter, score, postFilter } = profile.plugins ?? {}
  checkNames(profile, known)
  return known.flatMap(({ plugin, weight }) => {
    if (isDisabled(multiPoint, plugin.name) && !isEnabled(multiPoint, plugin.name)) return []
    const filters = isOn(filter, plugin.name)
    const scores = isOn(score, plugin.name)
    const postFilters = isOn(postFilter, plugin.name)
    const given = weightIn(score, plugin.name) ?? weightIn(multiPoint, plugin.name)
    const enabled: EnabledPlugin = {
      plugin: filters && postFilters ? plugin : without(plugin, filters, postFilters),
      weight: scores ? (given ?? weight) : 0,
      args: profile.pluginConfig?.find(({ name }) => name === plugin.name)?.args ?? {},
    }
    return [enabled]
  })
}

const isDisabled = (set: PluginSet | undefined, plugin: string) =>
  set?.disabled?.some(({ name }) => name === plugin || name === '*') ?? false
const isEnabled = (set: PluginSet | undefined, plugin: string) =>
  set?.enabled?.some(({ name }) => name === plugin) ?? false
const isOn = (set: PluginSet | undefined, plugin: string) => !isDisabled(set, plugin) || isEnabled(set, plugin)
const weightIn = (set: PluginSet | undefined, plugin: string) =>
  set?.enabled?.find(({ name }) => name === plugin)?.weight

function without(plugin: SchedulerPlugin, filters: boolean, postFilters: boolean): SchedulerPlugin {
  const { filter, preFilter, postFilter, forClass, ...rest } = plugin
  return {
    ...rest,
    ...(filters && { ...(filter && { filter }), ...(preFilter && { preFilter }) }),
    ...(postFilters && postFilter && { postFilter }),
    ...(forClass && {
      forClass(pod, cluster, args) {
        const rules = forClass.call(plugin, pod, cluster, args)
        if (!rules || filters) return rules
        const { filterNode: _node, filterPods: _pods, filterGroup: _group, beginFilter: _begin, ...kept } = rules
        return kept
      },
    }),
  }
}

function checkNames(profile: SchedulerProfile, known: readonly ListedPlugin[]): void {
  const names = new Set(known.map(({ plugin }) => plugin.name))
  for (const set of Object.values(profile.plugins ?? {}))
    for (const { name } of set?.enabled ?? [])
      if (!names.has(name)) throw new Error(`the scheduler has no plugin ${name}`)
}
