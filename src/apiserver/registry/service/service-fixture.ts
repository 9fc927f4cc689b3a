import type { Service, ServiceSpec } from '../../../api/generated/core-v1.ts'
import type { ServiceCIDR } from '../../../api/generated/networking-v1.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { invalidObject } from '../../../api/meta/api-error.ts'
import { type Random, seededRandom } from '../../../base/random.ts'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { ConflictError, type Store } from '../../../store/store.ts'
import { encodeObject } from '../../watch-cache/encoding.ts'
import { createServiceAllocator, type ServiceAllocator } from './allocator.ts'
import type { PortRange } from './node-ports.ts'

/** For tests: writes Services the way the registry does, with nothing around it. */
export class ServiceWriter implements Disposable {
  readonly store: Store
  readonly allocator: ServiceAllocator
  /** How often a commit lost against another. */
  conflicts = 0
  readonly #random: Random

  constructor(store: Store, options: { seed?: number; nodePortRange?: PortRange } = {}) {
    this.store = store
    this.#random = seededRandom(options.seed ?? 1)
    this.allocator = createServiceAllocator({
      store,
      random: this.#random,
      clock: new VirtualClock(),
      encode: encodeObject,
      ...(options.nodePortRange && { nodePortRange: options.nodePortRange }),
    })
  }

  async create(name: string, spec: ServiceSpec): Promise<ServiceSpec> {
    for (;;) {
      const draft: Service = {
        kind: 'Service',
        apiVersion: 'v1',
        metadata: { name, namespace: 'default', uid: this.#random.uuid() },
        spec: structuredClone(spec),
      }
      serviceKind.defaults!(draft)
      serviceKind.prepareCreate!(draft)
      const allocation = await this.allocator.create(draft)
      check(draft, serviceKind.validate!(draft))
      if (await this.#commit(draft, 0, allocation)) return draft.spec!
    }
  }

  /** `change` gets the spec as it is; what it returns replaces it. */
  async update(name: string, change: (spec: ServiceSpec) => ServiceSpec): Promise<ServiceSpec> {
    for (;;) {
      const { old, revision } = await this.read(name)
      const draft: Service = { ...structuredClone(old), spec: change(structuredClone(old.spec!)) }
      serviceKind.defaults!(draft)
      serviceKind.prepareUpdate!(draft, old)
      const allocation = await this.allocator.update(draft, old)
      check(draft, [...serviceKind.validate!(draft), ...serviceKind.validateUpdate!(draft, old)])
      if (await this.#commit(draft, revision, allocation)) return draft.spec!
    }
  }

  async delete(name: string): Promise<void> {
    for (;;) {
      const { old, revision } = await this.read(name)
      const released = await this.allocator.release(old)
      const conditions = [{ key: serviceKey(name), revision }, ...released.conditions]
      try {
        await this.store.commit(conditions, [{ key: serviceKey(name) }, ...released.writes])
        return
      } catch (error) {
        this.#count(error)
      }
    }
  }

  async read(name: string): Promise<{ old: Service; revision: number }> {
    const entry = await this.store.get(serviceKey(name))
    if (!entry) throw new Error(`there is no Service ${name}`)
    return { old: JSON.parse(entry.value.toString()) as Service, revision: entry.revision }
  }

  async #commit(
    draft: Service,
    revision: number,
    allocation: Awaited<ReturnType<ServiceAllocator['create']>>,
  ): Promise<boolean> {
    const key = serviceKey(draft.metadata.name!)
    try {
      await this.store.commit(
        [{ key, revision }, ...allocation.conditions],
        [{ key, ...encodeObject(draft) }, ...allocation.writes],
      )
      return true
    } catch (error) {
      this.#count(error)
      return false
    }
  }

  #count(error: unknown): void {
    if (!(error instanceof ConflictError)) throw error
    this.conflicts++
  }

  [Symbol.dispose](): void {
    this.allocator[Symbol.dispose]()
  }
}

function check(draft: Service, errors: ReturnType<NonNullable<typeof serviceKind.validate>>): void {
  if (errors.length > 0) throw invalidObject(serviceKind, draft.metadata.name!, errors)
}

export const serviceKey = (name: string) => `/registry/services/default/${name}`

/** Writes a range; `kubernetes` is the cluster's own. */
export async function putServiceCIDR(
  store: Store,
  name: string,
  cidrs: string[],
  extra: Partial<ServiceCIDR> & { deleting?: boolean } = {},
): Promise<void> {
  const { deleting, ...fields } = extra
  const object: ServiceCIDR = {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name, ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    spec: { cidrs },
    status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }] },
    ...fields,
  }
  await store.commit([], [{ key: `/registry/servicecidrs.networking.k8s.io/${name}`, ...encodeObject(object) }])
}

/** Names of the addresses that are held, in order. */
export async function heldIPs(store: Store): Promise<string[]> {
  const prefix = '/registry/ipaddresses.networking.k8s.io/'
  return (await store.list(prefix)).entries.map((entry) => entry.key.slice(prefix.length)).sort()
}

export async function heldPorts(store: Store): Promise<number[]> {
  const prefix = '/ranges/nodeports/'
  return (await store.list(prefix)).entries.map((entry) => Number(entry.key.slice(prefix.length))).sort()
}
