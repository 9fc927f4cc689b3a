import { setMaxListeners } from 'node:events'
import { isEnabled } from '../api/feature-gates.ts'
import type { Kind } from '../api/kind.ts'
import { builtinKinds } from '../api/kinds/all.ts'
import { clusterTrustBundleKind } from '../api/kinds/certificates/cluster-trust-bundle.ts'
import { KUBERNETES_VERSION } from '../api/version.ts'
import type { Changes } from '../base/changes.ts'
import type { Clock } from '../base/clock.ts'
import { observeEventLoopDelay } from '../base/event-loop-delay.ts'
import { KeyLock } from '../base/key-lock.ts'
import type { Logger } from '../base/log.ts'
import { MetricsRegistry } from '../base/metrics.ts'
import type { Random } from '../base/random.ts'
import type { MetricsSource } from '../client/metrics-source.ts'
import type { Transport } from '../client/transport.ts'
import { OpenApi } from '../openapi/openapi.ts'
import type { Store } from '../store/store.ts'
import { AdmissionChain } from './admission/chain.ts'
import { admitConnection } from './admission/connect.ts'
import { admissionExtensions } from './admission/extensions.ts'
import type { AdmissionPlugin } from './admission/plugin.ts'
import { type AdmissionOptions, admissionPlugins } from './admission/plugins.ts'
import type { PodSecurityOptions } from './admission/pod-security/plugin.ts'
import { keepTypesChecked } from './admission/policy-types.ts'
import { Aggregator } from './aggregation/aggregator.ts'
import { type FrontProxy, publishAuthentication } from './aggregation/authentication-config-map.ts'
import { remoteGroups, remoteOpenApi } from './aggregation/documents.ts'
import { type AuditOptions, Auditor } from './audit/auditor.ts'
import { MASTERS } from './authorization/authorizer.ts'
import { bootstrap } from './bootstrap/bootstrap.ts'
import { definitionChecks } from './crd/definition-checks.ts'
import { EngineLoader } from './crd/engines.ts'
import { type RunningCustomResources, startCustomResources } from './crd/start.ts'
import { Discovery } from './discovery/discovery.ts'
import type { EncryptionConfiguration } from './encryption/configuration.ts'
import { startEncryption } from './encryption/configured.ts'
import { encryptedStore } from './encryption/encrypted-store.ts'
import { apiServerFlags, flagz } from './flags.ts'
import { FlowControl } from './flow-control/flow-control.ts'
import { keepFlowControlObjects } from './flow-control/keep-objects.ts'
import { type RateLimit, UserRates } from './flow-control/user-rates.ts'
import { apiPaths } from './handlers/api-paths.ts'
import { type HealthCheck, healthPaths } from './handlers/health.ts'
import { HealthSlis } from './handlers/health-slis.ts'
import { ListBodies } from './handlers/list-body.ts'
import type { ResourceHandlerContext } from './handlers/resource-handler.ts'
import { ConversionThread } from './http/conversion-thread.ts'
import { type Listener, listen, type TlsOptions } from './http/listener.ts'
import { sendBody } from './http/respond.ts'
import type { UserInfo } from './identity.ts'
import { inProcessTransport } from './in-process.ts'
import { KindTable } from './kind-table.ts'
import type { KubeletConnector } from './kubelet-connector.ts'
import { metricsActions } from './metrics-api/actions.ts'
import { nodeMetricsKind, podMetricsKind } from './metrics-api/kinds.ts'
import { startPipeline } from './pipeline.ts'
import { Connections, type DialEndpoint, dialDirectly } from './proxy/connections.ts'
import { bindPod, createBinding } from './registry/action/bind.ts'
import { componentStatusActions } from './registry/action/component-statuses.ts'
import { evictPod } from './registry/action/evict.ts'
import { Actions } from './registry/actions.ts'
import type { Machinery } from './registry/machinery.ts'
import { createServiceAllocator } from './registry/service/allocator.ts'
import { keepServiceAllocationsRepaired } from './registry/service/repair.ts'
import type { PathHandler, PathTable } from './request/api-request.ts'
import { resolveService } from './resolve-service.ts'
import { type Security, type SecurityOptions, startSecurity } from './security.ts'
import { RequestMetrics } from './stages/measure.ts'
import { versionInfo } from './version.ts'
import { CacheFeed } from './watch-cache/cache-feed.ts'
import { encodeObject } from './watch-cache/encoding.ts'
import type { ResolveService } from './webhook-client/call-webhook.ts'

export interface ApiServerOptions extends SecurityOptions {
  readonly store: Store
  /** Other servers write to the same store. */
  readonly sharedStore?: boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics?: MetricsRegistry
  readonly serviceCidrs: readonly string[]
  readonly nodePortRange?: { readonly from: number; readonly to: number }
  /** The kinds that are served from the start; by default all that are built in. */
  readonly kinds?: Iterable<Kind>
  /** Where clients reach this server, told in discovery and by the Service `kubernetes`. */
  readonly advertise?: { readonly host: string; readonly port: number }
  /** How to reach a Service from here; by default one of its ready endpoints. */
  readonly resolveService?: ResolveService
  /** Names of admission plugins that are on by default and shall not be. */
  readonly disableAdmissionPlugins?: readonly string[]
  /** Names of those that are off by default and shall be on: OwnerReferencesPermissionEnforcement. */
  readonly enableAdmissionPlugins?: readonly string[]
  /** What pods may do where their namespace does not say, and who is not asked; by default everything. */
  readonly podSecurity?: PodSecurityOptions
  /** How many requests are worked on at once, shared by the priority levels; 600 by default. */
  readonly concurrency?: number
  /** How fast each user may ask by the network. */
  readonly rateLimit?: RateLimit
  /** How to reach kubelets, for logs, exec and the like. */
  readonly kubelets?: KubeletConnector
  /** How to reach pods; straight through the network of this machine by default. */
  readonly dialEndpoint?: DialEndpoint
  /** What is written down of requests, and where; nothing by default. */
  readonly audit?: AuditOptions
  /** By what extension API servers believe this server when it names users. */
  readonly frontProxy?: () => Promise<FrontProxy>
  /** Which resources are encrypted in the store, and how; none by default. */
  readonly encryption?: EncryptionConfiguration
  /** What replaces it while the server runs. */
  readonly encryptionChanges?: Changes<EncryptionConfiguration>
  /** What nodes and pods use; with it metrics.k8s.io is served. */
  readonly metricsSource?: MetricsSource
}

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly tls: TlsOptions
}

export interface ApiServer extends AsyncDisposable {
  /** Same pipeline as HTTP (authorization, admission, validation), no HTTP and no JSON. */
  transport(user: UserInfo, userAgent?: string): Transport
  /** Starts listening with TLS; resolves with the bound address. May be called for several addresses. */
  listen(options: ListenOptions): Promise<Pick<Listener, 'host' | 'port' | 'useCertificate'>>
}

const LOOPBACK_USER: UserInfo = { name: 'system:apiserver', groups: [MASTERS, 'system:authenticated'] }

export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { encryption, encryptionChanges, clock, log } = options
  if (!encryption) return serveStore(options)
  const providers = await startEncryption(encryption, encryptionChanges, clock, log)
  const server = await serveStore({ ...options, store: encryptedStore(options.store, providers, log) })
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      providers[Symbol.dispose]()
    },
  }
}

async function serveStore(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, log } = options
  const feed = new CacheFeed(store, clock, log)
  await feed.start()
  const stop = new AbortController()
  // Everything that follows something ends with it.
  setMaxListeners(0, stop.signal)
  const security = await startSecurity(options, feed, stop.signal)
  const engines = new EngineLoader()
  const metrics = options.metrics ?? new MetricsRegistry()
  const delays = observeEventLoopDelay(metrics)
  const resolve: ResolveService = options.resolveService ?? ((service) => resolveService(feed, options.random, service))
  // Nobody outside is asked while the server makes what it cannot be without.
  let isUp = false
  const extend: Extend = (kinds) =>
    admissionExtensions(
      { ...options, feed, kinds, metrics, resolveService: resolve, isUp: () => isUp },
      security.authorizer,
    )
  const { context, allocator } = resourceContext(options, feed, engines, security, extend)
  const { advertise } = options
  const discovery = new Discovery(
    () => context.machinery.kinds.list(),
    advertise ? `${advertise.host}:${advertise.port}` : '',
    remoteGroups(() => aggregator.remotes),
  )
  let custom: RunningCustomResources | undefined
  const openapi = new OpenApi({
    kinds: () => context.machinery.kinds.list(),
    version: KUBERNETES_VERSION,
    described: (kind) => custom?.customResources.described(kind),
    fingerprint: (kind) => custom?.customResources.fingerprint(kind),
    remote: remoteOpenApi(() => aggregator.remotes),
  })
  const invalidate = () => {
    discovery.invalidate()
    openapi.invalidate()
  }
  const proxyCertificate = async () => (await options.frontProxy?.())?.client()
  const aggregator = new Aggregator({ feed, clock, signal: stop.signal, log, resolve, proxyCertificate }, invalidate)
  context.machinery.kinds.onChange(() => {
    invalidate()
    aggregator.kindsChanged()
  })
  const auditor = options.audit && new Auditor(options.audit, clock, log, resolve)
  const checks = healthChecks(store)
  const flags = apiServerFlags(options, context.machinery.admission.names)
  const slis = new HealthSlis(checks)
  const conversions = new ConversionThread(clock)
  const router = {
    ...context,
    conversions,
    auditor,
    log,
    metrics: new RequestMetrics(metrics, clock),
    userRates: new UserRates(clock, options.rateLimit),
    flowControl: new FlowControl(clock, metrics, options.concurrency),
    delegate: (group: string, version: string) => aggregator.delegate(group, version),
    publicPaths: publicPaths(checks),
    paths: anyOf(
      (path) => aggregator.paths(path),
      apiPaths({ discovery, metrics, slis, openapi, flagz: () => flagz(flags) }),
      security.paths,
    ),
  }
  const own = inProcessTransport(context, LOOPBACK_USER, 'apiserver', auditor)
  const presence = await bootstrap(context.machinery, own, options)
  await Promise.all([
    keepFlowControlObjects({ feed, clock, signal: stop.signal, log }, router.flowControl, own),
    aggregator.start(own, () => context.machinery.kinds.list()),
  ])
  custom = await startCustomResources(context.machinery, own, engines, resolve)
  isUp = true
  const checking = keepTypesChecked({ feed, clock, log, signal: stop.signal, kinds: context.machinery.kinds }, own)
  const publishing = publishWhomToBelieve(options, own, stop.signal)
  const repairing = keepServiceAllocationsRepaired(
    { store, clock, random: options.random, encode: encodeObject },
    stop.signal,
    (error) => log.warn('could not compare Services with their allocations; trying again', { error: String(error) }),
  )
  const listeners: Listener[] = []
  return {
    transport: (user, userAgent = user.name) => inProcessTransport(context, user, userAgent, auditor),
    async listen({ host, port, tls }) {
      const authenticated = { ...router, authenticator: security.authentication.authenticator(tls.clientCa) }
      const proxyCa = options.authentication?.requestHeader?.ca
      const serve = startPipeline(authenticated)
      const listener = await listen({ host, port }, proxyCa ? { ...tls, proxyCa } : tls, clock, serve)
      listeners.push(listener)
      return listener
    },
    async [Symbol.asyncDispose]() {
      await presence?.[Symbol.asyncDispose]()
      stop.abort()
      await aggregator[Symbol.asyncDispose]()
      await Promise.all([
        repairing,
        checking,
        publishing,
        ...listeners.map((listener) => listener[Symbol.asyncDispose]()),
      ])
      await custom[Symbol.asyncDispose]()
      allocator[Symbol.dispose]()
      await feed[Symbol.asyncDispose]()
      await auditor?.[Symbol.asyncDispose]()
      await conversions[Symbol.asyncDispose]()
      delays[Symbol.dispose]()
    },
  }
}

/** Admission by those outside, once the kinds are known. */
type Extend = (kinds: KindTable) => readonly AdmissionPlugin[]

function resourceContext(
  options: ApiServerOptions,
  feed: CacheFeed,
  engines: EngineLoader,
  security: Security,
  extend: Extend,
) {
  const { store, clock, random, log } = options
  const allocator = createServiceAllocator({
    store,
    random,
    clock,
    encode: encodeObject,
    ...(options.nodePortRange && { nodePortRange: options.nodePortRange }),
  })
  const kinds = new KindTable(servedKinds(options))
  const machinery: Machinery = {
    store,
    feed,
    kinds,
    admission: new AdmissionChain(admissionPlugins(feed, admissionOptions(options, kinds, engines, security, extend))),
    allocators: new Map([['services', allocator]]),
    locks: new KeyLock(),
    clock,
    random,
    log,
    sharedStore: options.sharedStore ?? false,
    mayCreate: security.mayCreate,
  }
  const context: ResourceHandlerContext = {
    machinery,
    actions: Actions.of({
      'create pods/binding': bindPod,
      'create bindings': createBinding,
      'create pods/eviction': evictPod,
      ...componentStatusActions,
      ...(options.metricsSource && metricsActions(options.metricsSource)),
      ...security.actions,
    }),
    authorizer: security.authorizer,
    lists: new ListBodies(clock),
    connections: new Connections({
      feed,
      clock,
      random,
      authorizer: security.authorizer,
      kubelets: options.kubelets,
      admit: (attempt) => admitConnection(machinery.admission, attempt),
      dial: options.dialEndpoint ?? dialDirectly(clock),
    }),
  }
  return { context, allocator }
}

function servedKinds({ kinds = builtinKinds, metricsSource }: ApiServerOptions): Kind[] {
  const gated = isEnabled('ClusterTrustBundle') ? [clusterTrustBundleKind] : []
  return [...kinds, ...gated, ...(metricsSource ? [nodeMetricsKind, podMetricsKind] : [])]
}

function admissionOptions(
  options: ApiServerOptions,
  kinds: KindTable,
  engines: EngineLoader,
  security: Security,
  extend: Extend,
): AdmissionOptions {
  const { clock, random, disableAdmissionPlugins: disable, enableAdmissionPlugins: enable, podSecurity } = options
  return {
    clock,
    random,
    authorizer: security.authorizer,
    findKind: (group, version, kind) => kinds.byKind(group, version, kind),
    extensions: [definitionChecks(engines), ...security.admission, ...extend(kinds)],
    ...(disable && { disable }),
    ...(enable && { enable }),
    ...(podSecurity && { podSecurity }),
  }
}

/** Certificates may be a while in the making: nobody waits for them here. */
async function publishWhomToBelieve(options: ApiServerOptions, own: Transport, signal: AbortSignal): Promise<void> {
  try {
    const [clientCa, frontProxy] = await Promise.all([options.rootCertificate?.(), options.frontProxy?.()])
    if (!signal.aborted && (clientCa || frontProxy)) await publishAuthentication(own, clientCa, frontProxy)
  } catch (error) {
    if (!signal.aborted)
      options.log.warn('extension API servers were not told whom to believe', { error: String(error) })
  }
}

/** Under the names that monitoring asks for: `etcd` is whatever store there is. */
const healthChecks = (store: Store): HealthCheck[] => [
  { name: 'ping', isHealthy: () => true },
  { name: 'etcd', isHealthy: async () => (await store.revision()) > 0 },
]

function publicPaths(checks: readonly HealthCheck[]): PathTable {
  const health = healthPaths(checks)
  const version = Buffer.from(`${JSON.stringify(versionInfo(), null, 2)}\n`)
  const sendVersion: PathHandler = ({ exchange }) => sendBody(exchange, 200, 'application/json', version)
  return (path) => (path === '/version' || path === '/version/' ? sendVersion : health(path))
}

const anyOf =
  (...tables: PathTable[]): PathTable =>
  (path) => {
    for (const table of tables) {
      const handler = table(path)
      if (handler) return handler
    }
    return undefined
  }
