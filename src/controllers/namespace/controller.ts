import type { Namespace } from '../../api/generated/core-v1.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { servedTypes } from '../served-types.ts'
import { conditionsOf } from './conditions.ts'
import { deleteContent, hasRemaining } from './content.ts'

/** The finalizer that keeps a namespace until it is empty. */
const FINALIZER = 'kubernetes'
/** Milliseconds between looks at a namespace that does not get empty: the longer it lasts, the rarer. */
const MIN_PAUSE = 100
const MAX_PAUSE = 5000

/** Empties namespaces that are being deleted, then lets them go. */
export function namespaceController({ client, informers, clock }: ControllerContext): Controller {
  const namespaces = informers.informer(namespaceKind)
  const pods = informers.informer(podKind)
  const types = servedTypes(informers)
  const resource = client.resource(namespaceKind)

  async function reconcile(name: string) {
    const namespace = namespaces.get(name)
    if (!isEnding(namespace)) return
    const content = await deleteContent(client, types.list(), name)
    const current = await setConditions(namespace, content)
    if (content.errors.length > 0) throw content.errors[0]
    if (!hasRemaining(content)) return void (await finalize(current))
    const deletedAt = parseTime(namespace.metadata.deletionTimestamp ?? '') ?? 0
    return { retryAfter: Math.min(Math.max((clock.now() - deletedAt) / 4, MIN_PAUSE), MAX_PAUSE) }
  }

  async function setConditions(namespace: Namespace, content: Parameters<typeof conditionsOf>[1]): Promise<Namespace> {
    const known = namespace.status?.conditions ?? []
    const conditions = conditionsOf(known, content, clock.now())
    if (conditions === known) return namespace
    return resource.updateStatus({ ...namespace, status: { ...namespace.status, conditions: [...conditions] } })
  }

  async function finalize(namespace: Namespace): Promise<void> {
    const finalizers = namespace.spec?.finalizers?.filter((finalizer) => finalizer !== FINALIZER) ?? []
    const body = { ...namespace, spec: { ...namespace.spec, finalizers } }
    await resource.subresource('update', namespace.metadata.name ?? '', 'finalize', body).catch(ignoreNotFound)
  }

  return {
    name: 'namespace-controller',
    workers: 10,
    watches: [
      watch(namespaces, (old, current) => (isEnding(current) ? ownKey(old, current) : [])),
      // The last pod of an ending namespace need not be waited for until the next look.
      watch(pods, (old, current) => {
        const name = old?.metadata.namespace ?? ''
        return !current && isEnding(namespaces.get(name)) ? [name] : []
      }),
      watch(types.definitions, () => []),
    ],
    reconcile: (key) => reconcile(key).catch(ignoreNotFound),
  }
}

function isEnding(namespace: Namespace | undefined): namespace is Namespace {
  return namespace?.metadata.deletionTimestamp !== undefined && namespace.spec?.finalizers?.includes(FINALIZER) === true
}

/** Somebody else finished it. */
function ignoreNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
