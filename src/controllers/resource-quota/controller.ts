import type { ResourceQuota } from '../../api/generated/core-v1.ts'
import { resourceQuotaKind } from '../../api/kinds/core/resource-quota.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { byNamespace, type Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileQueue, watch } from '../controller.ts'
import { resourceName, type ServedType, servedTypes } from '../served-types.ts'
import { isChargedAlike } from './charged-alike.ts'
import { Ledger, type Measured, measuredName } from './ledger.ts'

const BY_NAMESPACE = 'namespace'

/** Counts what a namespace uses of what its quotas allow. Only kinds that some quota names are watched. */
export function resourceQuotaController({ client, clock, informers }: ControllerContext): Controller {
  const quotas = informers.informer(resourceQuotaKind, { indexes: { [BY_NAMESPACE]: byNamespace } })
  const types = servedTypes(informers)
  const followed = new Map<string, { informer: Informer; unfollow: () => void }>()
  const ledgers = new Map<string, Ledger>()
  let queue: ReconcileQueue | undefined

  function follow(type: ServedType): Informer {
    const known = followed.get(resourceName(type))
    if (known) return known.informer
    const informer = informers.informer(type, { indexes: { [BY_NAMESPACE]: byNamespace } })
    const unfollow = informer.onChange((old, current) => {
      if (old && current && isChargedAlike(type, old, current)) return
      for (const quota of quotas.byIndex(BY_NAMESPACE, (current ?? old)!.metadata.namespace ?? ''))
        book(ownKey(undefined, quota)[0]!, type, old, current)
    })
    followed.set(resourceName(type), { informer, unfollow })
    return informer
  }

  function book(
    key: string,
    type: ServedType,
    old: KubernetesObject | undefined,
    current: KubernetesObject | undefined,
  ): void {
    const ledger = ledgers.get(key)
    if (!ledger?.measures(type)) return
    ledger.change(type, old, current)
    queue?.add(key)
  }

  async function ledgerOf(key: string, quota: ResourceQuota): Promise<Ledger> {
    const known = ledgers.get(key)
    if (known && known.validUntil > clock.now() && deepEqual(known.spec, quota.spec)) return known
    const measured = typesOf(quota)
    await Promise.all(measured.map((type) => follow(type).synced))
    // From here on without a pause: the ledger hears of every change after the objects it was opened with.
    const ledger = new Ledger(quota.spec, measure(quota, measured), clock.now())
    ledgers.set(key, ledger)
    return ledger
  }

  /** A quota of the same name that comes later counts anew: nobody told this ledger what happened in between. */
  function forgetDeleted(old: ResourceQuota | undefined, current: ResourceQuota | undefined): string[] {
    const keys = ownKey(old, current)
    if (!current) for (const key of keys) ledgers.delete(key)
    return current ? keys : []
  }

  function typesOf(quota: ResourceQuota): ServedType[] {
    const wanted = new Set(Object.keys(quota.spec?.hard ?? {}).map(measuredName))
    return types.list().filter((type) => type.namespaced && wanted.has(resourceName(type)))
  }

  function measure(quota: ResourceQuota, measured: readonly ServedType[]): Measured[] {
    const namespace = quota.metadata.namespace ?? ''
    return measured.map((type) => ({ type, objects: follow(type).byIndex(BY_NAMESPACE, namespace) }))
  }

  return {
    name: 'resourcequota-controller',
    workers: 5,
    watches: [
      watch(quotas, forgetDeleted),
      // A quota may count a kind that is defined later.
      watch(types.definitions, () => {
        ledgers.clear()
        return quotas.list().flatMap((quota) => ownKey(undefined, quota))
      }),
    ],
    start(own) {
      queue = own
    },
    async reconcile(key) {
      const quota = quotas.get(key)
      if (!quota) return
      const ledger = await ledgerOf(key, quota)
      const hard = quota.spec?.hard ?? {}
      const used = ledger.used()
      if (!deepEqual(quota.status?.hard ?? {}, hard) || !deepEqual(quota.status?.used ?? {}, used))
        await client.resource(resourceQuotaKind).updateStatus({ ...quota, status: { hard, used } })
      if (Number.isFinite(ledger.validUntil)) return { retryAfter: ledger.validUntil - clock.now() }
    },
    async stop() {
      for (const { unfollow } of followed.values()) unfollow()
    },
  }
}
