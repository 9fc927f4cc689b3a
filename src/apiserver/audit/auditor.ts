import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Exchange } from '../http/exchange.ts'
import type { RequestLine, ResourceInfo } from '../http/request-info.ts'
import type { RouterContext } from '../http/router.ts'
import type { UserInfo } from '../identity.ts'
import type { ResolveService } from '../webhook-client/call-webhook.ts'
import { AuditedExchange } from './audited-exchange.ts'
import { type AuditContext, AuditedRequest, type AuditedSource } from './audited-request.ts'
import type { AuditBackend } from './event.ts'
import { type AuditLogOptions, LogBackend } from './log-backend.ts'
import { type AuditPolicy, policyEvaluator } from './policy.ts'
import { type AuditWebhookOptions, WebhookBackend } from './webhook-backend.ts'

export interface AuditOptions {
  readonly policy: AuditPolicy
  readonly log?: AuditLogOptions
  readonly webhook?: AuditWebhookOptions
}

/** Writes down who did what, as the policy says. */
export class Auditor implements AsyncDisposable {
  readonly #backends: readonly AuditBackend[]
  readonly #context: AuditContext

  constructor(options: AuditOptions, clock: Clock, log: Logger, resolve: ResolveService) {
    const evaluate = policyEvaluator(options.policy)
    this.#backends = [
      ...(options.log ? [new LogBackend(options.log, clock, log)] : []),
      ...(options.webhook ? [new WebhookBackend(options.webhook, clock, log, resolve)] : []),
    ]
    const write: AuditContext['write'] = (event) => {
      const line = JSON.stringify(event)
      for (const backend of this.#backends) backend.write(line)
    }
    this.#context = { clock, evaluate, write }
  }

  /** Follows a request through the router. */
  observe(
    context: RouterContext,
    exchange: Exchange,
    line: RequestLine,
    run: (context: RouterContext, exchange: Exchange, line: RequestLine) => void | Promise<void>,
  ): void | Promise<void> {
    const audit = new AuditedRequest(this.#context, sourceOf(exchange), line.info, line.verb)
    const observed: RouterContext = {
      ...context,
      authorizer: audit.noting(context.authorizer),
      authenticator: {
        authenticateToken: (token, audiences) => context.authenticator.authenticateToken(token, audiences),
        authenticate(asked) {
          const user = context.authenticator.authenticate(asked)
          if (!(user instanceof Promise)) {
            audit.identified(user)
            return user
          }
          return user.then((late) => {
            audit.identified(late)
            return late
          })
        },
      },
    }
    const outcome = run(observed, new AuditedExchange(exchange, audit), line)
    if (outcome) return outcome.finally(() => audit.complete())
    audit.complete()
  }

  /** A request from within this process; undefined if the policy wants nothing of it. */
  inProcess(user: UserInfo, userAgent: string, { info, verb, query }: InProcessRequest): AuditedRequest | undefined {
    // Most of what loops do is of no interest, and there is a lot of it.
    if (this.#context.evaluate({ user, verb, path: '', resource: info }).level === 'None') return undefined
    const url = pathOf(info) + (query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : '')
    const source = { url, userAgent, sourceIPs: OWN_ADDRESS, status: 0 }
    const audit = new AuditedRequest(this.#context, source, info, verb)
    audit.identified(user)
    return audit
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const backend of this.#backends) await backend[Symbol.asyncDispose]()
  }
}

export interface InProcessRequest {
  readonly info: ResourceInfo
  readonly verb: string
  readonly query: Readonly<Record<string, string>> | undefined
}

const OWN_ADDRESS = ['127.0.0.1']

/** Where the network would have sent it. */
function pathOf({ group, version, namespace, resource, name, subresource }: ResourceInfo): string {
  const place = namespace && resource !== 'namespaces' ? ['namespaces', namespace] : []
  const parts = [group === '' ? 'api' : `apis/${group}`, version, ...place, resource, name, subresource]
  return `/${parts.filter((part) => part !== '').join('/')}`
}

function sourceOf(exchange: Exchange): AuditedSource {
  const { url, headers } = exchange
  const id = headers['audit-id']
  return {
    url,
    userAgent: headers['user-agent'],
    sourceIPs: sourceIps(exchange),
    ...(typeof id === 'string' && { id }),
    get status() {
      return exchange.status
    },
  }
}

function sourceIps({ headers, socket }: Exchange): string[] {
  const forwarded = headers['x-forwarded-for']
  const before = typeof forwarded === 'string' ? forwarded.split(',').map((one) => one.trim()) : []
  const own = socket.remoteAddress
  return [...new Set([...before.filter((one) => one.length > 0 && one.length < 64), ...(own ? [own] : [])])]
}
