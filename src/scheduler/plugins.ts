import type { SchedulerPlugin } from './plugin.ts'
import { balancedAllocation } from './plugins/balanced-allocation/plugin.ts'
import { imageLocality } from './plugins/image-locality/plugin.ts'
import { interPodAffinity } from './plugins/inter-pod-affinity/plugin.ts'
import { nodeAffinity } from './plugins/node-affinity/plugin.ts'
import { nodeName } from './plugins/node-name/plugin.ts'
import { nodePorts } from './plugins/node-ports/plugin.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit/plugin.ts'
import { nodeUnschedulable } from './plugins/node-unschedulable/plugin.ts'
import { nodeVolumeLimits } from './plugins/node-volume-limits/plugin.ts'
import type { DefaultSelectors } from './plugins/pod-topology-spread/default-selectors.ts'
import { podTopologySpread } from './plugins/pod-topology-spread/plugin.ts'
import { taintToleration } from './plugins/taint-toleration/plugin.ts'
import { volumeBinding } from './plugins/volume-binding/plugin.ts'
import type { Storage } from './plugins/volume-binding/storage.ts'
import { volumeRestrictions } from './plugins/volume-restrictions/plugin.ts'
import { volumeZone } from './plugins/volume-zone/plugin.ts'

export interface ListedPlugin {
  readonly plugin: SchedulerPlugin
  /** 0 for one that does not score. */
  readonly weight: number
}

/** What some plugins need beside nodes and pods. */
export interface PluginContext {
  readonly selectors: DefaultSelectors
  readonly storage: Storage
}

/** The default plugins. Their order is the order of the filters: the first that refuses a node is the reason told. */
export function defaultPlugins({ selectors, storage }: PluginContext): readonly ListedPlugin[] {
  return [
    { plugin: nodeUnschedulable, weight: 0 },
    { plugin: nodeName, weight: 0 },
    { plugin: taintToleration, weight: 3 },
    { plugin: nodeAffinity, weight: 2 },
    { plugin: nodePorts, weight: 0 },
    { plugin: nodeResourcesFit, weight: 1 },
    { plugin: volumeRestrictions(storage), weight: 0 },
    { plugin: nodeVolumeLimits(storage), weight: 0 },
    { plugin: volumeBinding(storage), weight: 0 },
    { plugin: volumeZone(storage), weight: 0 },
    { plugin: podTopologySpread(selectors), weight: 2 },
    { plugin: interPodAffinity, weight: 2 },
    { plugin: { name: 'DefaultPreemption' }, weight: 0 },
    { plugin: balancedAllocation, weight: 1 },
    { plugin: imageLocality, weight: 1 },
  ]
}
