/** What a plugin is: it answers a query, or lets the next one in the chain do so and may change what comes back. */
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import type { Directive } from './corefile/parse.ts'
import type { DnsMetrics } from './dns-metrics.ts'
import type { Query, Question, Reply } from './wire/message.ts'

export interface DnsRequest {
  readonly query: Query
  readonly question: Question
  /** Who asks; the address without port. */
  readonly client: string
  readonly transport: 'udp' | 'tcp'
  /** Asks another question of the whole chain, for instance where an alias leads. */
  resolve(question: Question): Answer
}

/** Most answers are known at once; only what has to be fetched is waited for. */
export type Answer = Reply | Promise<Reply>

export interface DnsPlugin extends AsyncDisposable {
  readonly name: string
  /** `next` asks the rest of the chain, the same or another question. */
  answer(request: DnsRequest, next: (changed?: DnsRequest) => Answer): Answer
  /** Called when the chain is in use; the plugins of the chain before are gone by then. */
  start?(): Promise<void>
  /** Undefined when the plugin can serve; else what it waits for. */
  notReady?(): string | undefined
  /** It must see every query: none may be answered before the chain. */
  readonly seesAll?: boolean
}

/** What plugins are made with. */
export interface PluginContext {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly informers: InformerFactory
  readonly metrics: DnsMetrics
  /** The zones of the server block the plugin stands in. */
  readonly zones: readonly string[]
  /** What the node's own resolv.conf says. */
  readonly upstreams: readonly string[]
  /** The address of the Service kube-dns, where clients find this server. */
  readonly serviceAddress: string | undefined
  /** Where plugins that serve HTTP listen. */
  readonly host: string
  /** All plugins of the configuration. */
  readonly plugins: () => readonly DnsPlugin[]
  /** What an answer was made of has changed: answers that depend on it are void. */
  readonly changed: (dependency: string) => void
  /** Seconds, of the last change: the serial number of zones. */
  readonly serial: () => number
}

/** A plugin as it can be named in a Corefile. */
export interface PluginKind {
  readonly name: string
  /** Throws CorefileError where the directive is wrong. */
  setup(directive: Directive, context: PluginContext): DnsPlugin
}

const NOTHING: Pick<Reply, 'answers' | 'authority' | 'additional'> = { answers: [], authority: [], additional: [] }

/** A reply without records. */
export const emptyReply = (rcode: number, authoritative = false): Reply => ({ rcode, authoritative, ...NOTHING })

/** `work` on the reply, now or when it comes. */
export function whenAnswered(answer: Answer, work: (reply: Reply) => Reply): Answer {
  return answer instanceof Promise ? answer.then(work) : work(answer)
}

/** For plugins that hold nothing. */
export const nothingHeld = { async [Symbol.asyncDispose]() {} }
