/** What the tests of plugins share: a configuration from the text of a Corefile, and questions in one line. */
import type { Clock } from '../base/clock.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { type Random, seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import { type Configuration, configure } from './configuration.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { CLASS_IN, rcodeName, typeNumber } from './wire/constants.ts'
import type { DnsRecord, Query, Reply } from './wire/message.ts'

const noInformers = new Proxy({} as InformerFactory, {
  get() {
    throw new Error('these plugins know nothing of a cluster')
  },
})

export interface TestConfiguration {
  readonly configuration: Configuration
  readonly metrics: DnsMetrics
  /** `NOERROR a.org 30 A 10.0.0.1, ...` */
  ask(name: string, type?: string, transport?: 'udp' | 'tcp'): Promise<string>
}

export function configured(
  corefile: string,
  options: {
    readonly clock?: Clock
    readonly log?: Logger
    readonly random?: Random
    readonly upstreams?: readonly string[]
  } = {},
): TestConfiguration {
  const metrics = new DnsMetrics()
  const configuration = configure(corefile, {
    clock: options.clock ?? new VirtualClock(),
    random: options.random ?? seededRandom(1),
    log: options.log ?? silentLogger,
    informers: noInformers,
    metrics,
    upstreams: options.upstreams ?? [],
    serviceAddress: undefined,
    host: '127.0.0.1',
    changed: () => {},
    serial: () => 1,
  })
  return {
    configuration,
    metrics,
    async ask(name, type = 'A', transport = 'udp') {
      return shown(await configuration.answer(queryOf(name, type), '10.0.0.9', transport))
    },
  }
}

export const queryOf = (name: string, type: string): Query => ({
  id: 1,
  question: { name: name.toLowerCase(), type: typeNumber(type)!, class: CLASS_IN },
  asked: name,
  recursionDesired: true,
  checkingDisabled: false,
  edns: undefined,
})

export const shown = ({ rcode, answers }: Reply) =>
  [rcodeName(rcode), answers.map(shownRecord).join(', ')].filter((part) => part !== '').join(' ')

const shownRecord = ({ name, ttl, data }: DnsRecord) =>
  `${name} ${ttl} ${data.type} ${'address' in data ? data.address : 'target' in data ? data.target : ''}`
