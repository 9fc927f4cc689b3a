import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../../api/generated/core-v1.ts'
import { forbiddenAccess } from '../../../api/meta/api-error.ts'
import type { Clock } from '../../../base/clock.ts'
import { deepEqual } from '../../../base/deep-equal.ts'
import { KeyLock } from '../../../base/key-lock.ts'
import type { Allocation } from '../../objects/allocation.ts'
import type { CacheFeed } from '../../watch-cache/cache-feed.ts'
import type { CachedObject } from '../../watch-cache/cached-object.ts'
import { encodeObject } from '../../watch-cache/encoding.ts'
import type { ResourceCache } from '../../watch-cache/resource-cache.ts'
import { storagePrefix } from '../../watch-cache/storage-key.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../plugin.ts'
import { verdictOf } from './charges.ts'

const QUOTAS = storagePrefix({ group: '', plural: 'resourcequotas' })
/** Countless and short-lived, or stored nowhere. */
const FREE = new Set(['events', 'bindings', 'localsubjectaccessreviews'])

/**
 * Nothing is stored that would exceed a quota of its namespace. The new count is written in the transaction of the
 * object it counts, on the condition that the quota is as it was when it was read: however many requests come at once,
 * through however many servers, none is let in too many. Within this server those of one namespace take turns.
 */
export function resourceQuota(feed: CacheFeed, clock: Clock): AdmissionPlugin {
  const turns = new KeyLock()
  const charge = async (request: AdmissionRequest) => {
    const release = await turnOf(turns, request.namespace)
    try {
      const allocation = reserve(request, quotasOf(await feed.cache(QUOTAS), request.namespace), clock.now())
      if (!allocation || request.dryRun || !request.also) return release()
      request.also(allocation, release)
    } catch (error) {
      release()
      throw error
    }
  }
  return {
    name: 'ResourceQuota',
    validate(request) {
      if (request.namespace === '' || !isCharged(request)) return
      const cache = feed.loaded(QUOTAS)
      if (cache && quotasOf(cache, request.namespace).length === 0) return
      return charge(request)
    },
  }
}

const NONE: readonly CachedObject[] = []

function quotasOf(cache: ResourceCache, namespace: string): readonly CachedObject[] {
  if (cache.size === 0) return NONE
  const keyPrefix = `${QUOTAS}${namespace}/`
  return cache.select({ id: keyPrefix, keyPrefix, exactKey: false, matches: undefined })
}

/** Resolves when all who came before have let go; the caller must call what it gets, once. */
function turnOf(turns: KeyLock, namespace: string): Promise<() => void> {
  return new Promise((resolve) => {
    void turns.run(namespace, () => new Promise<void>((release) => resolve(release)))
  })
}

/** Does it add to what some quota counts? Most writes are updates that do not. */
function isCharged({ operation, kind, subresource, draft, old }: AdmissionRequest): boolean {
  if (!draft) return false
  const isNew = operation === 'CREATE' && subresource === ''
  if (kind.group !== '') return isNew && !FREE.has(kind.plural)
  const isChange = operation === 'UPDATE' && old !== undefined
  switch (kind.plural) {
    case 'pods':
      if (!isChange) return isNew
      return subresource === 'resize' || (subresource === '' && isTerminating(draft) !== isTerminating(old))
    case 'services':
      return isNew || (isChange && subresource === '')
    case 'persistentvolumeclaims':
      return isNew || (isChange && (subresource === '' || (subresource === 'status' && isResized(draft, old))))
    default:
      return isNew && !FREE.has(kind.plural)
  }
}

const isTerminating = (pod: Pod) => pod.spec?.activeDeadlineSeconds !== undefined
const isResized = ({ status: now }: PersistentVolumeClaim, { status: before }: PersistentVolumeClaim) =>
  !deepEqual(now?.allocatedResources, before?.allocatedResources) ||
  now?.currentVolumeAttributesClassName !== before?.currentVolumeAttributesClassName ||
  !deepEqual(now?.modifyVolumeStatus, before?.modifyVolumeStatus)

function reserve(request: AdmissionRequest, quotas: readonly CachedObject[], now: number): Allocation | undefined {
  const { kind, draft, old, name, subresource } = request
  const charged = { type: kind, draft: draft!, old, isStatus: subresource === 'status' }
  const conditions: Allocation['conditions'][number][] = []
  const writes: Allocation['writes'][number][] = []
  for (const { key, revision, object } of quotas) {
    const quota = object as ResourceQuota
    const verdict = verdictOf(quota, charged, now)
    if (!verdict) continue
    if ('refusal' in verdict) throw forbiddenAccess({ group: kind.group, resource: kind.plural }, name, verdict.refusal)
    const counted: ResourceQuota = { ...quota, status: { ...quota.status, used: verdict.used } }
    const { value, revisionSlot } = encodeObject(counted)
    conditions.push({ key, revision })
    writes.push({ key, value, revisionSlot })
  }
  return writes.length > 0 ? { conditions, writes } : undefined
}
