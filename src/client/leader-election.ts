import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { formatMicroTime } from '../api/meta/time.ts'
import { deadline, linkAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Client, ResourceClient } from './client.ts'

export interface LeaderElectionOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** The Lease all candidates share. */
  readonly namespace: string
  readonly name: string
  /** Who this candidate is; unique among all. */
  readonly identity: string
  /** Milliseconds a leader counts as alive after its last sign. */
  readonly leaseDuration?: number
  /** Milliseconds after which a leader that cannot renew gives up; less than `leaseDuration`. */
  readonly renewDeadline?: number
  /** Milliseconds between attempts. */
  readonly retryPeriod?: number
  readonly signal: AbortSignal
  /**
   * Does the leader's work until its signal aborts, which happens before anyone else can lead. `term` grows with each
   * change of leader: what outlives the signal can be refused by it.
   */
  lead(signal: AbortSignal, term: number): Promise<void>
  onNewLeader?(identity: string): void
}

interface Lease extends KubernetesObject {
  spec?: LeaseSpec
}

interface LeaseSpec {
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

const LEASES = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true }
const JITTER = 1.2

/**
 * Runs `lead` whenever this candidate holds the Lease, until the signal aborts; then gives the Lease back. The clocks
 * of candidates need not agree: a Lease is judged by when this candidate saw it change, not by the times in it.
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const candidate = new Candidate(options)
  const { signal } = options
  while (!signal.aborted) {
    if (!(await candidate.acquire())) break
    await candidate.leadUntilLost()
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions
  readonly #leases: ResourceClient<Lease>
  readonly #leaseDuration: number
  readonly #renewDeadline: number
  readonly #retryPeriod: number
  #observed: Lease | undefined
  /** By our own clock. */
  #observedAt = 0
  #leader = ''

  constructor(options: LeaderElectionOptions) {
    this.#options = options
    this.#leases = options.client.resource<Lease>(LEASES).namespace(options.namespace)
    this.#leaseDuration = options.leaseDuration ?? 15_000
    this.#renewDeadline = options.renewDeadline ?? 10_000
    this.#retryPeriod = options.retryPeriod ?? 2_000
    if (this.#leaseDuration <= this.#renewDeadline || this.#renewDeadline <= this.#retryPeriod * JITTER) {
      throw new Error('leader election needs leaseDuration > renewDeadline > retryPeriod * 1.2')
    }
  }

  /** Waits until the Lease is ours; false if stopped before. */
  async acquire(): Promise<boolean> {
    const { signal, random, clock } = this.#options
    while (!signal.aborted) {
      if (await this.#withinDeadline(clock.now(), signal)) return true
      await this.#pause(this.#retryPeriod * (1 + random.next() * (JITTER - 1)), signal)
    }
    return false
  }

  async leadUntilLost(): Promise<void> {
    const { log, identity, name, signal } = this.#options
    const term = linkAbort(signal)
    log.info('leading', { lease: name, identity })
    const work = this.#options.lead(term.signal, this.#observed?.spec?.leaseTransitions ?? 0)
    // Work that ends by itself, well or badly, gives the leadership up.
    const ended = work.finally(() => term.abort())
    ended.catch(() => {})
    await this.#renewWhile(term.signal)
    term.abort()
    try {
      await ended
    } finally {
      log.info('no longer leading', { lease: name, identity })
      await this.#release()
    }
  }

  /** Returns when the signal aborts or no renewal got through for the deadline. */
  async #renewWhile(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    let renewedAt = clock.now()
    while (!signal.aborted) {
      await this.#pause(Math.min(this.#retryPeriod, renewedAt + this.#renewDeadline - clock.now()), signal)
      if (signal.aborted) return
      const held = await this.#withinDeadline(renewedAt, signal)
      if (held) renewedAt = clock.now()
      else if (this.#holder() !== this.#options.identity || clock.now() - renewedAt >= this.#renewDeadline) return
    }
  }

  /** An attempt that hangs must not keep us leading past the deadline. */
  async #withinDeadline(renewedAt: number, parent: AbortSignal): Promise<boolean> {
    const { clock } = this.#options
    const attempt = deadline(clock, Math.max(0, renewedAt + this.#renewDeadline - clock.now()), parent)
    try {
      return await this.#tryToHold(attempt.signal)
    } finally {
      attempt[Symbol.dispose]()
    }
  }

  async #tryToHold(signal: AbortSignal): Promise<boolean> {
    const { log, name } = this.#options
    try {
      return await abortable(this.#attempt(), signal)
    } catch (error) {
      if (!signal.aborted) log.warn('the lease could not be taken', { lease: name, error: String(error) })
      return false
    }
  }

  async #attempt(): Promise<boolean> {
    const { clock, identity, name, namespace } = this.#options
    const now = clock.now()
    const current = await this.#leases.get(name).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) return undefined
      throw error
    })
    if (!current) {
      const metadata = { name, namespace }
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        spec: this.#ourSpec(undefined, now),
      }
      this.#observe(await this.#leases.create(lease), now)
      return true
    }
    this.#observe(current, now)
    const holder = current.spec?.holderIdentity
    const duration = (current.spec?.leaseDurationSeconds ?? 0) * 1000
    if (holder && holder !== identity && this.#observedAt + duration > now) return false
    this.#observe(await this.#leases.update({ ...current, spec: this.#ourSpec(current.spec, now) }), now)
    return true
  }

  #ourSpec(old: LeaseSpec | undefined, now: number): LeaseSpec {
    const { identity } = this.#options
    const kept = old?.holderIdentity === identity
    const time = formatMicroTime(now)
    return {
      ...old,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#leaseDuration / 1000),
      acquireTime: kept ? (old?.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: (old?.leaseTransitions ?? 0) + (old === undefined || kept ? 0 : 1),
    }
  }

  #observe(lease: Lease, now: number): void {
    if (lease.metadata.resourceVersion !== this.#observed?.metadata.resourceVersion) this.#observedAt = now
    this.#observed = lease
    const leader = this.#holder()
    if (leader === this.#leader) return
    this.#leader = leader
    if (leader !== '') this.#options.onNewLeader?.(leader)
  }

  #holder(): string {
    return this.#observed?.spec?.holderIdentity ?? ''
  }

  /** Lets the next candidate in at once. If this fails, the Lease runs out by itself. */
  async #release(): Promise<void> {
    const { clock, identity, log, name } = this.#options
    const lease = this.#observed
    if (!lease || this.#holder() !== identity) return
    const time = formatMicroTime(clock.now())
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time }
    const limit = deadline(clock, this.#retryPeriod)
    try {
      this.#observe(await abortable(this.#leases.update({ ...lease, spec }), limit.signal), clock.now())
    } catch (error) {
      log.warn('the lease could not be released', { lease: name, error: String(error) })
    } finally {
      limit[Symbol.dispose]()
    }
  }

  async #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(Math.max(0, milliseconds), signal).catch(() => {})
  }
}

/** Rejects as soon as the signal aborts, whatever the promise does. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
