import type { LimitRange, Namespace, Pod } from '../../api/generated/core-v1.ts'
import type { IngressClass } from '../../api/generated/networking-v1.ts'
import type { PriorityClass } from '../../api/generated/scheduling-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { storagePrefix } from '../kind-table.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { certificateRequester } from './certificate-requester.ts'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClass } from './default-storage-class.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { limitRanger } from './limit-ranger.ts'
import { cacheLister, type Lister } from './lister.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { type PodSecurityOptions, podSecurity } from './pod-security/plugin.ts'
import { priority } from './priority.ts'
import { resourceQuota } from './resource-quota/plugin.ts'
import { runtimeClass } from './runtime-class.ts'
import { serviceAccount } from './service-account.ts'
import { cachedServiceAccounts } from './service-accounts.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

export interface AdmissionOptions {
  readonly clock: Clock
  readonly random: Random
  /** Names of plugins to leave out. */
  readonly disable?: readonly string[]
  readonly podSecurity?: PodSecurityOptions
  /** Those that users bring (webhooks, policies), asked after the built-in ones and before quota is taken. */
  readonly extensions?: readonly AdmissionPlugin[]
}

/** In this order they are asked. */
export function admissionPlugins(feed: CacheFeed, options: AdmissionOptions): readonly AdmissionPlugin[] {
  const { clock, random, disable = [], extensions = [] } = options
  const lister = <T extends KubernetesObject>(group: string, plural: string): Lister<T> =>
    cacheLister(feed, storagePrefix({ group, plural }))
  const finder = (group: string, plural: string) => {
    const objects = lister(group, plural)
    return async (name: string) => objects.get(name)
  }
  const all = [
    namespaceLifecycle(finder('', 'namespaces')),
    limitRanger(lister<LimitRange>('', 'limitranges')),
    serviceAccount(cachedServiceAccounts(feed, clock), random),
    taintNodesByCondition,
    podSecurity(
      { namespaces: lister<Namespace>('', 'namespaces'), pods: lister<Pod>('', 'pods') },
      options.podSecurity,
    ),
    priority(lister<PriorityClass>('scheduling.k8s.io', 'priorityclasses')),
    defaultTolerationSeconds,
    defaultStorageClass(lister<StorageClass>('storage.k8s.io', 'storageclasses')),
    runtimeClass(finder('node.k8s.io', 'runtimeclasses')),
    certificateRequester,
    defaultIngressClass(lister<IngressClass>('networking.k8s.io', 'ingressclasses')),
    ...extensions,
    resourceQuota(feed, clock),
  ]
  return all.filter(({ name }) => !disable.includes(name))
}
