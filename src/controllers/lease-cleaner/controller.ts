import type { Lease } from '../../api/generated/coordination-v1.ts'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, splitKey, watch } from '../controller.ts'

const IDENTITY_LABEL = 'apiserver.kubernetes.io/identity'

/** Deletes Leases whose holder is gone: of API servers that stopped renewing, and of nodes that no longer exist. */
export function leaseCleanerController({ client, clock, informers }: ControllerContext): Controller {
  const nodes = informers.informer(nodeKind)
  const apiServerLeases = informers.informer(leaseKind, { namespace: NAMESPACE.system, labelSelector: IDENTITY_LABEL })
  const nodeLeases = informers.informer(leaseKind, { namespace: NAMESPACE.nodeLease })

  function abandoned(key: string): Lease | undefined {
    const lease = nodeLeases.get(key) ?? apiServerLeases.get(key)
    const { namespace, name } = splitKey(key)
    return namespace === NAMESPACE.nodeLease && nodes.get(name) ? undefined : lease
  }

  return {
    name: 'lease-cleaner-controller',
    watches: [
      // A live node renews its Lease every ten seconds: only a new one is looked at, and those of nodes that go.
      watch(nodeLeases, (old, current) => (old || !current ? [] : ownKey(old, current))),
      watch(nodes, (old, current) => (current ? [] : [`${NAMESPACE.nodeLease}/${old?.metadata.name}`])),
      watch(apiServerLeases, (old, current) => (old || !current ? [] : ownKey(old, current))),
    ],
    async reconcile(key) {
      const lease = abandoned(key)
      if (!lease) return
      const wait = expiryOf(lease) - clock.now()
      if (wait > 0) return { retryAfter: wait }
      const { namespace, name } = splitKey(key)
      const { uid, resourceVersion } = lease.metadata
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
      try {
        await client.resource(leaseKind).namespace(namespace).delete(name, { preconditions })
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 404)) throw error
      }
    },
  }
}

function expiryOf({ metadata, spec }: Lease): number {
  const renewed = parseTime(spec?.renewTime ?? metadata.creationTimestamp ?? '') ?? 0
  return renewed + (spec?.leaseDurationSeconds ?? 0) * 1000
}
