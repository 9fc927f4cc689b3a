import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/flowcontrol-v1.ts'
import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { MetricsRegistry } from '../../base/metrics.ts'
import type { UserInfo } from '../identity.ts'
import { bootstrapLevels, bootstrapSchemas } from './bootstrap-objects.ts'
import { Flow } from './flow.ts'
import { flowMetrics } from './flow-metrics.ts'
import { type FlowRequest, matchesSchema } from './matching.ts'
import { PriorityLevel, Rejected, type RejectReason, tooMany } from './priority-level.ts'

/** Reads and writes that are worked on at once, all levels together: kube-apiserver's 400 and 200. */
export const DEFAULT_CONCURRENCY = 600

/** So long a request may wait for its seats. */
const MAX_WAIT_MS = 15_000
/** Kinds of requests that are remembered per user. */
const MAX_REMEMBERED = 500

interface Schema {
  readonly name: string
  readonly uid: string
  readonly object: FlowSchema
  readonly level: PriorityLevel
}

/**
 * API priority and fairness: which requests are worked on when there are more than the server can take. Every request
 * belongs to a flow of a priority level. As long as a level has seats this costs a look into a map.
 */
export class FlowControl {
  readonly #clock: Clock
  readonly #concurrency: number
  readonly #schemaObjects = new Map<string, FlowSchema>()
  readonly #levelObjects = new Map<string, PriorityLevelConfiguration>()
  readonly #levels = new Map<string, PriorityLevel>()
  readonly #metrics: ReturnType<typeof flowMetrics>
  #schemas: readonly Schema[] = []
  #known = new WeakMap<UserInfo, Map<string, Flow>>()
  #isStale = true
  #turn: PriorityLevel[] = []

  constructor(clock: Clock, metrics: MetricsRegistry, concurrency = DEFAULT_CONCURRENCY) {
    this.#clock = clock
    this.#concurrency = concurrency
    this.#metrics = flowMetrics(metrics)
    for (const [name, spec] of Object.entries(bootstrapLevels))
      this.#levelObjects.set(name, { metadata: { name }, spec })
    for (const [name, spec] of Object.entries(bootstrapSchemas))
      this.#schemaObjects.set(name, { metadata: { name }, spec })
  }

  setSchema(name: string, object: FlowSchema | undefined): void {
    set(this.#schemaObjects, name, object ?? mandatory(name, bootstrapSchemas))
    this.#isStale = true
  }

  setLevel(name: string, object: PriorityLevelConfiguration | undefined): void {
    set(this.#levelObjects, name, object ?? mandatory(name, bootstrapLevels))
    this.#isStale = true
  }

  /** The flow of a request: looked for once per user and kind of request. */
  classify(user: UserInfo, request: FlowRequest): Flow {
    if (this.#isStale) this.#rebuild()
    const { resource } = request
    const key = resource
      ? `${request.verb} ${resource.group}/${resource.resource}/${resource.subresource} ${resource.namespace}`
      : `${request.verb} ${request.path}`
    let flows = this.#known.get(user)
    const known = flows?.get(key)
    if (known) return known
    if (!flows || flows.size >= MAX_REMEMBERED) {
      flows = new Map()
      this.#known.set(user, flows)
    }
    const flow = this.#flowOf(user, request)
    flows.set(key, flow)
    return flow
  }

  /**
   * Takes seats: at once, or when the promise resolves. Throws 429 when there is no place to wait. Whoever got seats
   * hands them back with `end`.
   */
  begin(flow: Flow, width: number, signal: () => AbortSignal): void | Promise<void> {
    if (flow.level.tryStart(width)) return flow.dispatched.increment()
    return this.#wait(flow, width, signal())
  }

  end(flow: Flow, width: number): void {
    flow.level.leave(width)
  }

  /** No request may take more seats than this, so that one does not take all. */
  maxWidth({ level }: Flow): number {
    return Math.max(1, Math.min(10, Math.floor(level.nominal * 0.15)))
  }

  get levels(): Iterable<PriorityLevel> {
    if (this.#isStale) this.#rebuild()
    return this.#levels.values()
  }

  #wait(flow: Flow, width: number, signal: AbortSignal): Promise<void> {
    const since = this.#clock.now()
    return new Promise((resolve, reject) => {
      const settle = () => {
        timer.cancel()
        signal.removeEventListener('abort', cancel)
        this.#metrics.waited(flow, (this.#clock.now() - since) / 1000)
      }
      const refuse = (reason: RejectReason) => {
        this.#metrics.rejected(flow, reason)
        reject(tooMany())
      }
      const giveUp = (reason: RejectReason) => {
        place.leave()
        settle()
        refuse(reason)
      }
      const cancel = () => giveUp('cancelled')
      let place: { leave(): void }
      try {
        place = flow.level.enqueue(flow, width, () => {
          settle()
          flow.dispatched.increment()
          resolve()
        })
      } catch (error) {
        if (!(error instanceof Rejected)) throw error
        return refuse(error.reason)
      }
      const timer = this.#clock.after(MAX_WAIT_MS, () => giveUp('time-out'))
      timer.unref()
      signal.addEventListener('abort', cancel, { once: true })
    })
  }

  #flowOf(user: UserInfo, request: FlowRequest): Flow {
    const found = this.#schemas.find(({ object }) => matchesSchema(object.spec!, user, request))
    const schema = found ?? this.#schemas.find(({ name }) => name === 'catch-all')!
    const method = schema.object.spec?.distinguisherMethod?.type
    const distinguisher =
      method === 'ByUser' ? user.name : method === 'ByNamespace' ? (request.resource?.namespace ?? '') : ''
    return new Flow(schema, schema.level, distinguisher, this.#metrics.dispatched(schema.level.name, schema.name))
  }

  #rebuild(): void {
    this.#isStale = false
    this.#known = new WeakMap()
    this.#rebuildLevels()
    const schemas = [...this.#schemaObjects].flatMap(([name, object]) => {
      const level = this.#levels.get(object.spec?.priorityLevelConfiguration.name ?? '')
      return level && object.spec ? [{ name, uid: object.metadata.uid ?? '', object, level }] : []
    })
    const precedence = ({ object }: Schema) => object.spec?.matchingPrecedence ?? 1000
    this.#schemas = schemas.sort((a, b) => precedence(a) - precedence(b) || (a.name < b.name ? -1 : 1))
  }

  #rebuildLevels(): void {
    for (const name of [...this.#levels.keys()]) if (!this.#levelObjects.has(name)) this.#levels.delete(name)
    let shares = 0
    for (const { spec } of this.#levelObjects.values()) shares += sharesOf(spec)
    for (const [name, { metadata, spec }] of this.#levelObjects) {
      const level = getOrCreate(this.#levels, name, () => this.#newLevel(name, spec!))
      level.spec = spec!
      level.uid = metadata.uid ?? ''
      level.nominal = Math.ceil((this.#concurrency * sharesOf(spec)) / Math.max(1, shares))
      const { lendablePercent = 0 } = spec?.limited ?? spec?.exempt ?? {}
      level.lendable = Math.round((level.nominal * lendablePercent) / 100)
      const borrowing = spec?.limited?.borrowingLimitPercent
      level.most =
        borrowing === undefined ? this.#concurrency : level.nominal + Math.round((level.nominal * borrowing) / 100)
    }
  }

  #newLevel(name: string, spec: NonNullable<PriorityLevelConfiguration['spec']>): PriorityLevel {
    const level = new PriorityLevel(name, spec, {
      borrowable: (borrower) => this.#borrowable(borrower),
      nextTurn: (one) => this.#nextTurn(one),
    })
    this.#metrics.level(level)
    return level
  }

  /** What the others do not need now of what they lend, less what is borrowed already. */
  #borrowable(borrower: PriorityLevel): number {
    let seats = 0
    for (const level of this.#levels.values()) {
      if (level === borrower) continue
      const free = level.nominal - level.inUse
      seats += free >= 0 ? Math.min(level.lendable, free) : free
    }
    return seats
  }

  #nextTurn(level: PriorityLevel): void {
    if (this.#turn.push(level) > 1) return
    setImmediate(() => {
      const levels = this.#turn
      this.#turn = []
      for (const one of levels) one.beginTurn()
    })
  }
}

const sharesOf = (spec: PriorityLevelConfiguration['spec']) =>
  spec?.limited ? (spec.limited.nominalConcurrencyShares ?? 30) : (spec?.exempt?.nominalConcurrencyShares ?? 0)

const MANDATORY = ['exempt', 'catch-all']

function mandatory<S>(
  name: string,
  specs: Readonly<Record<string, S>>,
): { metadata: { name: string }; spec: S } | undefined {
  return MANDATORY.includes(name) ? { metadata: { name }, spec: specs[name]! } : undefined
}

function set<T>(map: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) map.delete(name)
  else map.set(name, value)
}
