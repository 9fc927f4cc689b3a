import type { APIService } from '../../api/generated/apiregistration-v1.ts'
import type { Kind } from '../../api/kind.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Logger } from '../../base/log.ts'
import { WorkQueue } from '../../base/workqueue.ts'
import type { Transport } from '../../client/transport.ts'
import { type FollowContext, follow } from '../authorization/follow.ts'
import type { Exchange } from '../http/exchange.ts'
import type { PathHandler } from '../http/router.ts'
import type { UserInfo } from '../identity.ts'
import { type Availability, checkAvailability } from './availability.ts'
import { handOn } from './hand-on.ts'
import { API_SERVICES, LocalServices } from './local-services.ts'
import type { RemoteContext } from './remote-client.ts'
import { fetchV2, fetchV3Location, readResources } from './remote-documents.ts'
import { type RemoteService, RemoteServices } from './remote-service.ts'

export interface AggregatorContext extends FollowContext, RemoteContext {
  readonly log: Logger
}

const RECHECK_MS = 30_000
const LOCAL_DELAY_MS = 100
const WORKERS = 4
const OPENAPI_V3 = '/openapi/v3/apis/'

/** Groups that other servers serve, told by APIServices: who they are, whether they answer, and the way there. */
export class Aggregator implements AsyncDisposable {
  readonly remotes: RemoteServices
  readonly #context: AggregatorContext
  readonly #queue: WorkQueue
  readonly #workers: Promise<void>[] = []
  /** Whose documents are under way. */
  readonly #fetching = new Set<string>()
  #transport: Transport | undefined
  #local: LocalServices | undefined
  #followsServices = false
  #localPending = false

  constructor(context: AggregatorContext, onChange: () => void) {
    this.#context = context
    this.remotes = new RemoteServices(context, onChange)
    this.#queue = new WorkQueue(context.clock, { base: 1000, maximum: RECHECK_MS })
  }

  async start(transport: Transport, kinds: () => Iterable<Kind>): Promise<void> {
    this.#transport = transport
    const local = new LocalServices(transport, kinds)
    this.#local = local
    await follow(this.#context, API_SERVICES, (_, name, object) => {
      const wasManaged = local.isManaged(name)
      local.note(name, object as APIService | undefined)
      if (!object && wasManaged) this.kindsChanged()
      if (!this.remotes.set(name, object as APIService | undefined)) return
      this.#queue.add(name)
      this.#followServices()
    })
    await local.keep()
    for (let i = 0; i < WORKERS; i++) this.#workers.push(this.#work())
  }

  /** Group versions of this server came or went. Many may come at once. */
  kindsChanged(): void {
    if (!this.#local || this.#localPending) return
    this.#localPending = true
    this.#context.clock
      .after(LOCAL_DELAY_MS, () => {
        this.#localPending = false
        if (this.#context.signal.aborted) return
        this.#local?.keep().catch((error) => {
          this.#context.log.warn('could not keep the APIServices of this server', { error: String(error) })
        })
      })
      .unref()
  }

  /** Who serves this group version if we do not. */
  delegate(group: string, version: string): ((exchange: Exchange, user: UserInfo) => Promise<void>) | undefined {
    if (this.remotes.size === 0) return undefined
    const remote = this.remotes.of(group, version)
    return remote && ((exchange, user) => handOn(remote, exchange, user, this.#context.clock))
  }

  /** Discovery and OpenAPI documents of these group versions. */
  paths(path: string): PathHandler | undefined {
    if (this.remotes.size === 0) return undefined
    const prefix = path.startsWith(OPENAPI_V3) ? OPENAPI_V3 : path.startsWith('/apis/') ? '/apis/' : undefined
    if (!prefix) return undefined
    const [group = '', version = '', ...more] = path.slice(prefix.length).replace(/\/$/, '').split('/')
    const delegated = more.length === 0 ? this.delegate(group, version) : undefined
    return delegated && ((exchange, _, user) => delegated(exchange, user))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue.shutDown()
    this.remotes[Symbol.dispose]()
    await Promise.all(this.#workers)
  }

  /** Only clusters with such servers need to know when what is behind them changes. */
  #followServices(): void {
    if (this.#followsServices) return
    this.#followsServices = true
    const recheck = (namespace: string, name: string | undefined) => {
      for (const { object } of this.remotes.list()) {
        const { service } = object.spec!
        if (service?.namespace === namespace && service.name === name) this.#queue.add(object.metadata.name!)
      }
    }
    const services = { group: '', plural: 'services' }
    const slices = { group: 'discovery.k8s.io', plural: 'endpointslices' }
    const owners = new Map<string, string | undefined>()
    Promise.all([
      follow(this.#context, services, recheck),
      follow(this.#context, slices, (namespace, name, object) => {
        const key = `${namespace}/${name}`
        const owner = object?.metadata.labels?.['kubernetes.io/service-name'] ?? owners.get(key)
        if (object) owners.set(key, owner)
        else owners.delete(key)
        recheck(namespace, owner)
      }),
    ]).catch((error) => this.#context.log.warn('cannot follow Services', { error: String(error) }))
  }

  async #work(): Promise<void> {
    for (let name = await this.#queue.next(); name !== undefined; name = await this.#queue.next()) {
      try {
        await this.#check(name)
      } catch (error) {
        this.#context.log.warn('could not look after an APIService', { name, error: String(error) })
        this.#queue.addRateLimited(name)
      }
      this.#queue.done(name)
    }
  }

  async #check(name: string): Promise<void> {
    const remote = this.remotes.get(name)
    if (!remote) return this.#queue.forget(name)
    const { availability, discovery } = await checkAvailability(this.#context.feed, remote)
    if (this.#context.signal.aborted) return
    if (discovery) this.remotes.told(remote, { resources: readResources(discovery) })
    await this.#tell(name, availability)
    if (availability.status !== 'True') return this.#queue.addRateLimited(name)
    this.#queue.forget(name)
    this.#queue.addAfter(name, RECHECK_MS)
    void this.#fetchDocuments(name, remote)
  }

  /** A server without OpenAPI is a server all the same; nobody waits for its documents. */
  async #fetchDocuments(name: string, remote: RemoteService): Promise<void> {
    if (this.#fetching.has(name)) return
    this.#fetching.add(name)
    const [v3, v2] = await Promise.allSettled([fetchV3Location(remote), fetchV2(remote)])
    this.#fetching.delete(name)
    this.remotes.told(remote, {
      ...(v3.status === 'fulfilled' && { openApiV3: v3.value }),
      ...(v2.status === 'fulfilled' && { openApiV2: v2.value }),
    })
  }

  async #tell(name: string, { status, reason, message }: Availability): Promise<void> {
    const conditions = this.remotes.get(name)?.object.status?.conditions ?? []
    const known = findCondition(conditions, 'Available')
    if (known?.status === status && known.reason === reason && known.message === message) return
    const isFlip = known?.status !== status
    const lastTransitionTime = isFlip ? formatTime(this.#context.clock.now()) : known.lastTransitionTime
    const condition = { type: 'Available', status, reason, message, lastTransitionTime }
    await this.#transport!.call({
      verb: 'patch',
      resource: API_SERVICES,
      name,
      subresource: 'status',
      patchType: 'application/merge-patch+json',
      body: { status: { conditions: [...conditions.filter(({ type }) => type !== 'Available'), condition] } },
    })
  }
}
