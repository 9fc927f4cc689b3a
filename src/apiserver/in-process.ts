import type { Kind, Verb } from '../api/kind.ts'
import { pathNotFound } from '../api/meta/api-error.ts'
import { apiVersionOf, type KubernetesObject } from '../api/meta/object.ts'
import { ANNOTATION } from '../api/meta/well-known.ts'
import type { ApiAnswer, ApiCall, ResourceType, Transport, WatchCall, WatchEvent } from '../client/transport.ts'
import type { Auditor } from './audit/auditor.ts'
import { authorize } from './authorization/authorizer.ts'
import { listMetaOf } from './handlers/list-body.ts'
import type { ResourceHandlerContext } from './handlers/resource-handler.ts'
import type { UserInfo } from './identity.ts'
import { inVersion } from './objects/representation.ts'
import type { Answer } from './registry/answer.ts'
import { perform } from './registry/perform.ts'
import { type OpenWatch, watch } from './registry/watch.ts'
import { Query } from './request/query.ts'
import type { ResourceInfo } from './request/request-info.ts'
import type { ResourceRequest } from './request/resource-request.ts'

/** The API server without a network: the same authorization, admission and validation, but no HTTP and no JSON. */
export function inProcessTransport(
  context: ResourceHandlerContext,
  user: UserInfo,
  userAgent: string,
  auditor?: Auditor,
): Transport {
  const plain: Transport = {
    async call(call) {
      const request = toRequest(context, user, userAgent, call)
      const pending = check(context, user, call.verb, request)
      if (pending) await pending
      return toAnswer(await perform(context.machinery, context.actions, call.verb, request))
    },
    async *watch(call) {
      const request = toRequest(context, user, userAgent, call)
      await check(context, user, 'watch', request)
      yield* events(await watch(context.machinery, request), call.signal)
    },
    async [Symbol.asyncDispose]() {},
  }
  return auditor ? audited(plain, context, { user, userAgent, auditor }) : plain
}

interface AuditedSender {
  readonly user: UserInfo
  readonly userAgent: string
  readonly auditor: Auditor
}

/** The same, written down as the policy says. What it says nothing of goes the short way. */
function audited(
  plain: Transport,
  context: ResourceHandlerContext,
  { user, userAgent, auditor }: AuditedSender,
): Transport {
  const begin = (verb: Verb, call: ApiCall | WatchCall) =>
    auditor.inProcess(user, userAgent, { info: infoOf(call), verb, query: call.query })
  return {
    ...plain,
    async call(call) {
      const audit = begin(call.verb, call)
      if (!audit) return plain.call(call)
      if (call.body) audit.requestObject(call.body)
      return audit.settle(call.verb === 'create' ? 201 : 200, async () => {
        const request = { ...toRequest(context, user, userAgent, call), annotate: audit.annotate.bind(audit) }
        await check({ ...context, authorizer: audit.noting(context.authorizer) }, user, call.verb, request)
        return toAnswer(await perform(context.machinery, context.actions, call.verb, request))
      })
    },
    async *watch(call) {
      const audit = begin('watch', call)
      if (!audit) return yield* plain.watch(call)
      try {
        const open = await audit.settled(async () => {
          const request = toRequest(context, user, userAgent, call)
          await check({ ...context, authorizer: audit.noting(context.authorizer) }, user, 'watch', request)
          return watch(context.machinery, request)
        })
        audit.responseStarted(200)
        yield* events(open, call.signal)
      } finally {
        audit.complete()
      }
    },
  }
}

function infoOf(call: ApiCall | WatchCall): ResourceInfo {
  const { resource, namespace = '' } = call
  const { name = '', subresource = '' } = call as Partial<ApiCall>
  const { group, version, plural } = resource
  return {
    isResource: true,
    group,
    version,
    resource: plural,
    namespace,
    name,
    subresource,
    rest: '',
    watchPath: false,
  }
}

function kindOf(context: ResourceHandlerContext, resource: ResourceType): Kind {
  const kind = context.machinery.kinds.byResource(resource.group, resource.version, resource.plural)
  if (!kind) throw pathNotFound()
  return kind
}

function toRequest(
  context: ResourceHandlerContext,
  user: UserInfo,
  userAgent: string,
  call: ApiCall | WatchCall,
): ResourceRequest {
  const { name = '', subresource = '', body, patchType } = call as Partial<ApiCall>
  const kind = kindOf(context, call.resource)
  return {
    kind,
    subresource,
    namespace: call.namespace ?? '',
    name,
    query: Query.of(call.query),
    user,
    userAgent,
    body: body === undefined ? undefined : { type: 'object', object: body },
    // Slices share their items with the stored ones: only what changed is worked on.
    ...(!kind.sharedItems && isLarge(body) && { bodyBytes: LARGE_BYTES }),
    ...(patchType && { patchType }),
    warnings: [],
  }
}

/** What a large object counts as: enough for the registry to let others have a turn between the steps of a write. */
const LARGE_BYTES = 1024 * 1024
const LARGE_VALUES = 5000

/** Whether an object has very many values. Looks at no more of them than that takes. */
function isLarge(object: unknown): boolean {
  let left = LARGE_VALUES
  const visit = (value: object): boolean => {
    for (const key in value) {
      if (--left < 0) return true
      const child = (value as Record<string, unknown>)[key]
      if (typeof child === 'object' && child !== null && visit(child)) return true
    }
    return false
  }
  return typeof object === 'object' && object !== null && visit(object)
}

function check(
  context: ResourceHandlerContext,
  user: UserInfo,
  verb: Verb,
  request: ResourceRequest,
): void | Promise<void> {
  const { kind, namespace, name, subresource, query } = request
  const { group, version, plural } = kind
  return authorize(context.authorizer, user, {
    verb,
    resource: { group, version, resource: plural, namespace, name, subresource },
    selectors: query,
  })
}

function toAnswer(answer: Answer): ApiAnswer {
  switch (answer.type) {
    case 'plain':
      return answer.body as ApiAnswer
    case 'object':
      return inVersion(answer.kind, answer.object).object as ApiAnswer
    case 'list': {
      const { kind, list } = answer
      const items = list.objects.map((object) => inVersion(kind, object).object)
      return { kind: kind.listKind, apiVersion: apiVersionOf(kind), metadata: listMetaOf(list), items } as ApiAnswer
    }
  }
}

/** Turns deliveries into a loop's steps. What arrives while the loop is busy comes as one batch. */
async function* events(open: OpenWatch, signal: AbortSignal): AsyncGenerator<readonly WatchEvent[]> {
  let waiting: WatchEvent[] = []
  let isOver = false
  let wake = () => {}
  const push = (event: WatchEvent) => {
    waiting.push(event)
    wake()
  }
  const end = () => {
    isOver = true
    wake()
  }
  const stop = open.begin({
    deliver(batch) {
      for (const { type, object } of batch.events) push({ type, object: inVersion(open.kind, object).object })
    },
    bookmark: (revision, initialEventsEnd) =>
      push({ type: 'BOOKMARK', object: bookmark(open.kind, revision, initialEventsEnd) }),
    end,
  })
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    while (!isOver || waiting.length > 0) {
      if (waiting.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      if (signal.aborted) return
      const batch = waiting
      waiting = []
      if (batch.length > 0) yield batch
    }
  } finally {
    stop()
  }
}

function bookmark(kind: Kind, revision: number, initialEventsEnd: boolean): KubernetesObject {
  return {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: String(revision),
      ...(initialEventsEnd && { annotations: { [ANNOTATION.initialEventsEnd]: 'true' } }),
    },
  }
}
