import { type Counter, MetricsRegistry } from '../base/metrics.ts'

/** 0.25 ms to 8 s, each twice the one before: names of the cluster take less, others more. */
const DURATION_BUCKETS = Array.from({ length: 16 }, (_, i) => 0.000_25 * 2 ** i)
const SERVER = 'dns://:53'

/** What is counted, under the names CoreDNS gave it. Kept over changes of the configuration. */
export class DnsMetrics {
  readonly registry = new MetricsRegistry()
  readonly #requests = this.registry.counter('coredns_dns_requests_total', 'DNS requests.', [
    'server',
    'zone',
    'view',
    'proto',
    'family',
    'type',
  ])
  readonly #responses = this.registry.counter('coredns_dns_responses_total', 'Response codes.', [
    'server',
    'zone',
    'view',
    'rcode',
  ])
  readonly #durations = this.registry.histogram(
    'coredns_dns_request_duration_seconds',
    'How long each request took.',
    ['server', 'zone', 'view'],
    DURATION_BUCKETS,
  )
  readonly #hits = this.registry.counter('coredns_cache_hits_total', 'Answers of the cache.', ['server', 'type'])
  readonly #misses = this.registry.counter('coredns_cache_misses_total', 'What the cache did not know.', ['server'])
  readonly cacheHits = { success: this.#hits.labels(SERVER, 'success'), denial: this.#hits.labels(SERVER, 'denial') }
  readonly cacheMisses: Counter = this.#misses.labels(SERVER)
  readonly #forwarded = this.registry.counter('coredns_proxy_request_total', 'Requests to each upstream.', ['to'])
  readonly #unhealthy = this.registry.counter(
    'coredns_proxy_healthcheck_failures_total',
    'Failed health checks of each upstream.',
    ['to'],
  )
  readonly forwardRejects = this.registry
    .counter('coredns_forward_max_concurrent_rejects_total', 'Queries refused because too many were under way.')
    .labels()
  readonly #failedReloads = this.registry.counter('coredns_reload_failed_total', 'Configurations that were wrong.')

  readonly #collectors = new Set<() => void>()

  /** `collect` is called before each scrape, for what is counted elsewhere. */
  beforeScrape(collect: () => void): void {
    this.#collectors.add(collect)
  }

  expose(): string {
    for (const collect of this.#collectors) collect()
    return this.registry.expose()
  }

  /** Answers that were kept ready; how long they took nobody measures. */
  readyAnswers(host: string, type: string, rcode: string, count: number): void {
    this.#requests.labels(SERVER, '.', '', 'udp', host.includes(':') ? '2' : '1', type).increment(count)
    this.#responses.labels(SERVER, '.', '', rcode).increment(count)
  }

  request(zone: string, transport: string, client: string, type: string): void {
    this.#requests.labels(SERVER, zone, '', transport, client.includes(':') ? '2' : '1', type).increment()
  }

  response(zone: string, rcode: string, seconds: number): void {
    this.#responses.labels(SERVER, zone, '', rcode).increment()
    this.#durations.labels(SERVER, zone, '').observe(seconds)
  }

  forwarded = (to: string) => this.#forwarded.labels(to).increment()
  healthCheckFailed = (to: string) => this.#unhealthy.labels(to).increment()
  reloadFailed = () => this.#failedReloads.labels().increment()
}
