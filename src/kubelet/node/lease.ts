import type { Lease } from '../../api/generated/coordination-v1.ts'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { formatMicroTime } from '../../api/meta/time.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import type { Client } from '../../client/client.ts'

const SECONDS = 40

/** The heartbeat of a node: one small object, renewed. */
export class NodeLease {
  readonly #client: Client
  readonly #name: string
  #lease: Lease | undefined

  constructor(client: Client, name: string) {
    this.#client = client
    this.#name = name
  }

  async renew(now: number, nodeUid: string | undefined): Promise<void> {
    const leases = this.#client.resource(leaseKind).namespace(NAMESPACE.nodeLease)
    const name = this.#name
    const renewTime = formatMicroTime(now)
    try {
      this.#lease ??= await leases.get(name)
      const spec = { ...this.#lease.spec, holderIdentity: name, leaseDurationSeconds: SECONDS, renewTime }
      this.#lease = await leases.update({ ...this.#lease, spec })
    } catch (error) {
      this.#lease = undefined
      if (!(error instanceof ApiError && error.code === 404)) throw error
      const owner = nodeUid && [{ apiVersion: 'v1', kind: 'Node', name, uid: nodeUid }]
      this.#lease = await leases.create({
        metadata: { name, namespace: NAMESPACE.nodeLease, ...(owner && { ownerReferences: owner }) },
        spec: { holderIdentity: name, leaseDurationSeconds: SECONDS, renewTime },
      })
    }
  }
}
