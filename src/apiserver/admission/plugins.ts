import type { LimitRange, Namespace, Node, Pod } from '../../api/generated/core-v1.ts'
import type { IngressClass } from '../../api/generated/networking-v1.ts'
import type { RuntimeClass } from '../../api/generated/node-v1.ts'
import type { PriorityClass } from '../../api/generated/scheduling-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import { certificateApproval } from './certificate-approval.ts'
import { certificateRequester } from './certificate-requester.ts'
import { certificateSigning } from './certificate-signing.ts'
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts'
import { clusterTrustBundleAttest } from './cluster-trust-bundle-attest.ts'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClass } from './default-storage-class.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { denyServiceExternalIPs } from './deny-service-external-ips.ts'
import { limitRanger } from './limit-ranger.ts'
import { cacheLister, type Lister } from './lister.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { nodeRestriction } from './node-restriction.ts'
import { type FindKind, ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { type PodSecurityOptions, podSecurity } from './pod-security/plugin.ts'
import { podTopologyLabels } from './pod-topology-labels.ts'
import { priority } from './priority.ts'
import { resourceQuota } from './resource-quota/plugin.ts'
import { runtimeClass } from './runtime-class.ts'
import { serviceAccount } from './service-account.ts'
import { cachedServiceAccounts } from './service-accounts.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

export interface AdmissionOptions {
  readonly clock: Clock
  readonly random: Random
  readonly authorizer: Authorizer
  readonly findKind: FindKind
  /** Names of plugins to add that are off by default. */
  readonly enable?: readonly string[]
  /** Names of plugins to leave out. */
  readonly disable?: readonly string[]
  readonly podSecurity?: PodSecurityOptions
  /** Those that users bring (webhooks, policies), asked after the built-in ones and before quota is taken. */
  readonly extensions?: readonly AdmissionPlugin[]
}

/** They are for some clusters only. */
const OFF_BY_DEFAULT = new Set(['OwnerReferencesPermissionEnforcement', 'DenyServiceExternalIPs'])

/** In this order they are asked. */
export function admissionPlugins(feed: CacheFeed, options: AdmissionOptions): readonly AdmissionPlugin[] {
  const { clock, random, authorizer, enable = [], disable = [], extensions = [] } = options
  const lister = <T extends KubernetesObject>(group: string, plural: string): Lister<T> =>
    cacheLister(feed, storagePrefix({ group, plural }))
  const storageClasses = lister<StorageClass>('storage.k8s.io', 'storageclasses')
  const all = [
    namespaceLifecycle(lister<Namespace>('', 'namespaces')),
    limitRanger(lister<LimitRange>('', 'limitranges')),
    serviceAccount(cachedServiceAccounts(feed, clock), random),
    nodeRestriction({ pods: lister<Pod>('', 'pods'), nodes: lister<Node>('', 'nodes') }),
    taintNodesByCondition,
    podSecurity(
      { namespaces: lister<Namespace>('', 'namespaces'), pods: lister<Pod>('', 'pods') },
      options.podSecurity,
    ),
    priority(lister<PriorityClass>('scheduling.k8s.io', 'priorityclasses')),
    defaultTolerationSeconds,
    defaultStorageClass(storageClasses),
    storageObjectInUseProtection,
    ownerReferencesPermissionEnforcement(authorizer, options.findKind),
    persistentVolumeClaimResize(storageClasses),
    runtimeClass(lister<RuntimeClass>('node.k8s.io', 'runtimeclasses')),
    certificateRequester,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    clusterTrustBundleAttest(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass(lister<IngressClass>('networking.k8s.io', 'ingressclasses')),
    podTopologyLabels(lister<Node>('', 'nodes')),
    denyServiceExternalIPs,
    ...extensions,
    resourceQuota(feed, clock),
  ]
  assertKnown(all, enable, disable)
  return all.filter(({ name }) => (OFF_BY_DEFAULT.has(name) ? enable.includes(name) : !disable.includes(name)))
}

function assertKnown(all: readonly AdmissionPlugin[], enable: readonly string[], disable: readonly string[]): void {
  const names = new Set(all.map(({ name }) => name))
  for (const [flag, asked] of Object.entries({
    'enable-admission-plugins': enable,
    'disable-admission-plugins': disable,
  })) {
    const unknown = asked.find((name) => !names.has(name))
    if (unknown !== undefined) throw new Error(`${flag} plugin ${JSON.stringify(unknown)} is unknown`)
  }
  const both = enable.filter((name) => disable.includes(name))
  if (both.length > 0)
    throw new Error(`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`)
}
