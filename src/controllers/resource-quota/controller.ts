import type { ResourceQuota } from '../../api/generated/core-v1.ts'
import { measuredBy } from '../../api/kinds/core/quota/usage.ts'
import { resourceQuotaKind } from '../../api/kinds/core/resource-quota.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { byNamespace, type Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileQueue, watch } from '../controller.ts'
import { resourceName, type ServedType, servedTypes } from '../served-types.ts'
import { isChargedAlike, type Measured, usedBy } from './reconcile.ts'

const BY_NAMESPACE = 'namespace'

/** Counts what a namespace uses of what its quotas allow. Only kinds that some quota names are watched. */
export function resourceQuotaController({ client, clock, informers }: ControllerContext): Controller {
  const quotas = informers.informer(resourceQuotaKind, { indexes: { [BY_NAMESPACE]: byNamespace } })
  const types = servedTypes(informers)
  const followed = new Map<string, { informer: Informer; unfollow: () => void }>()
  let queue: ReconcileQueue | undefined

  function follow(type: ServedType): Informer {
    const known = followed.get(resourceName(type))
    if (known) return known.informer
    const informer = informers.informer(type, { indexes: { [BY_NAMESPACE]: byNamespace } })
    const unfollow = informer.onChange((old, current) => {
      if (old && current && isChargedAlike(type, old, current)) return
      for (const quota of quotas.byIndex(BY_NAMESPACE, (current ?? old)!.metadata.namespace ?? ''))
        for (const key of ownKey(undefined, quota)) queue?.add(key)
    })
    followed.set(resourceName(type), { informer, unfollow })
    return informer
  }

  async function measure(quota: ResourceQuota): Promise<Measured[]> {
    const wanted = new Set(Object.keys(quota.spec?.hard ?? {}).map((name) => resourceName(served(name))))
    const charged = types.list().filter((type) => type.namespaced && wanted.has(resourceName(type)))
    return Promise.all(
      charged.map(async (type) => {
        const informer = follow(type)
        await informer.synced
        return { type, objects: informer.byIndex(BY_NAMESPACE, quota.metadata.namespace ?? '') }
      }),
    )
  }

  return {
    name: 'resourcequota-controller',
    workers: 5,
    watches: [
      watch(quotas, (old, current) => (current ? ownKey(old, current) : [])),
      // A quota may count a kind that is defined later.
      watch(types.definitions, () => quotas.list().flatMap((quota) => ownKey(undefined, quota))),
    ],
    start(own) {
      queue = own
    },
    async reconcile(key) {
      const quota = quotas.get(key)
      if (!quota) return
      const hard = quota.spec?.hard ?? {}
      const used = usedBy(quota, await measure(quota), clock.now())
      if (deepEqual(quota.status?.hard ?? {}, hard) && deepEqual(quota.status?.used ?? {}, used)) return
      await client.resource(resourceQuotaKind).updateStatus({ ...quota, status: { hard, used } })
    },
    async stop() {
      for (const { unfollow } of followed.values()) unfollow()
    },
  }
}

const served = (name: string) => ({ ...measuredBy(name), version: '', namespaced: true })
