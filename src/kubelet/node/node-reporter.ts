import type { Node, NodeCondition, NodeStatus } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Logger } from '../../base/log.ts'
import { SerialLoop } from '../../base/serial-loop.ts'
import type { Client } from '../../client/client.ts'
import { NodeLease } from './lease.ts'
import { type NodeFacts, type NodeSpec, nodeObject, nodeStatus } from './node-object.ts'

export interface NodeReporterOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly spec: NodeSpec
  /** Asked each time there may be something to report. */
  readonly facts: () => Promise<NodeFacts>
  /** The condition of the node changed: for an event. */
  readonly onCondition: (condition: NodeCondition) => void
}

const LEASE_INTERVAL = 10_000
/** What the node says of itself is looked at this often, and told when it changed or was not told for long. */
const LOOK_INTERVAL = 10_000
const STATUS_INTERVAL = 300_000
const FIRST_REGISTER_WAIT = 100
const LONGEST_REGISTER_WAIT = 2000

/** Keeps the Node object true: registers it, beats, tells what changed. A Node that was deleted is registered anew. */
export class NodeReporter {
  readonly #options: NodeReporterOptions
  readonly #lease: NodeLease
  readonly #beats: SerialLoop
  readonly #reports: SerialLoop
  #node: Node | undefined
  #isStopped = false
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(options: NodeReporterOptions) {
    const { clock, log } = options
    this.#options = options
    this.#lease = new NodeLease(options.client, options.spec.name)
    const retry = { first: 200, longest: 7000 }
    const failing = (message: string) => (error: unknown) => log.warn(message, { error: String(error) })
    this.#beats = new SerialLoop({ clock, retry, run: () => this.#beat(), onError: failing('the node could not beat') })
    this.#reports = new SerialLoop({
      clock,
      retry,
      run: () => this.#report(),
      onError: failing('the node could not report'),
    })
  }

  /** As the API has it. */
  get node(): Node | undefined {
    return this.#node
  }

  /** Resolves once the Node is in the API; an API server that is not there yet is waited for. */
  async register(): Promise<Node> {
    const { clock, log } = this.#options
    for (let wait = FIRST_REGISTER_WAIT; ; wait = Math.min(LONGEST_REGISTER_WAIT, wait * 2)) {
      try {
        return await this.#register()
      } catch (error) {
        if (!(error instanceof ApiError && error.code >= 500) || this.#isStopped) throw error
        log.debug('the node could not be registered', { error: String(error) })
      }
      await clock.sleep(wait)
    }
  }

  async #register(): Promise<Node> {
    const { client, clock, spec, facts } = this.#options
    const nodes = client.resource(nodeKind)
    const wanted = nodeObject(spec, await facts(), clock.now())
    try {
      this.#node = await nodes.create(wanted)
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409)) throw error
      this.#node = await this.#reconcile(await nodes.get(spec.name), wanted)
    }
    this.#toldAt = Number.NEGATIVE_INFINITY
    return this.#node
  }

  start(): void {
    this.#beats.wake()
    this.#reports.wake()
  }

  /** The Node changed in the API, or is gone from it. */
  seen(node: Node | undefined): void {
    if (node) this.#node = node
    else {
      this.#node = undefined
      this.#reports.wake()
    }
  }

  /** Something that the node tells of itself has changed. */
  changed(): void {
    this.#reports.wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#beats.stop(), this.#reports.stop()])
  }

  /** Labels that are the kubelet's own to say are kept true; what others added stays. */
  async #reconcile(found: Node, wanted: Node): Promise<Node> {
    const labels = { ...found.metadata.labels, ...wanted.metadata.labels }
    const annotations = { ...found.metadata.annotations, ...wanted.metadata.annotations }
    if (deepEqual(labels, found.metadata.labels) && deepEqual(annotations, found.metadata.annotations)) return found
    return this.#options.client
      .resource(nodeKind)
      .patch(found.metadata.name ?? '', { metadata: { labels, annotations } })
  }

  async #beat(): Promise<number> {
    const { clock } = this.#options
    await this.#lease.renew(clock.now(), this.#node?.metadata.uid)
    return clock.now() + LEASE_INTERVAL
  }

  async #report(): Promise<number> {
    const { client, clock, spec, facts } = this.#options
    const node = this.#node ?? (await this.#register())
    const now = clock.now()
    const status = nodeStatus(spec, await facts(), node.status ?? {}, now)
    if (now - this.#toldAt < STATUS_INTERVAL && !hasChanged(node.status ?? {}, status)) return now + LOOK_INTERVAL
    for (const condition of status.conditions ?? []) {
      const before = node.status?.conditions?.find(({ type }) => type === condition.type)
      if (before?.status !== condition.status) this.#options.onCondition(condition)
    }
    try {
      this.#node = await client
        .resource(nodeKind)
        .patch(
          spec.name,
          { status: statusPatch(node.status ?? {}, status) },
          { subresource: 'status', type: 'application/strategic-merge-patch+json' },
        )
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) this.#node = undefined
      throw error
    }
    this.#toldAt = now
    return now + LOOK_INTERVAL
  }
}

/** Maps are merged, so what is not to be given away any more is said. */
function statusPatch({ allocatable: before = {} }: NodeStatus, status: NodeStatus) {
  const allocatable: Record<string, string | number | null> = { ...status.allocatable }
  for (const name of Object.keys(before)) allocatable[name] ??= null
  return { ...status, allocatable, addresses: [...(status.addresses ?? []), { $patch: 'replace' }] }
}

/** The time of the last heartbeat alone is no news. */
function hasChanged(before: NodeStatus, after: NodeStatus): boolean {
  const bare = (conditions: readonly NodeCondition[] = []) =>
    conditions.map(({ lastHeartbeatTime: _time, ...rest }) => rest)
  const fields: (keyof NodeStatus)[] = ['capacity', 'allocatable', 'addresses', 'daemonEndpoints', 'nodeInfo', 'images']
  if (fields.some((field) => !deepEqual(before[field] ?? [], after[field] ?? []))) return true
  const known = bare(before.conditions)
  return bare(after.conditions).some((one) => !known.some((other) => deepEqual(one, other)))
}
