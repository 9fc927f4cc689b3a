import type { Pod } from '../../../api/generated/core-v1.ts'
import type { PodDisruptionBudget } from '../../../api/generated/policy-v1.ts'
import { ApiError, badRequest, internalError, objectNotFound } from '../../../api/meta/api-error.ts'
import { compileLabelSelector, matchesLabels } from '../../../api/meta/label-selector.ts'
import { formatTime } from '../../../api/meta/time.ts'
import { Query } from '../../request/query.ts'
import type { ResourceRequest } from '../../request/resource-request.ts'
import { storagePrefix } from '../../watch-cache/storage-key.ts'
import type { Answer } from '../answer.ts'
import { decodePlain } from '../decode.ts'
import { deleteNamed } from '../delete.ts'
import { parseDeleteOptions } from '../delete-options.ts'
import { cacheOf, type Machinery, readForUpdate, targetOf } from '../machinery.ts'
import { change } from '../update.ts'
import { parseWriteOptions } from '../write-options.ts'

/** POST pods/NAME/eviction: a deletion that a PodDisruptionBudget may refuse, with 429, until there is room. */
export async function evictPod(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'CreateOptions')
  const eviction = request.body ? decodePlain(request.body, 'Eviction') : {}
  const deletion = parseDeleteOptions({
    ...request,
    body: { type: 'object', object: (eviction.deleteOptions as object | undefined) ?? {} },
  })
  const name = (eviction.metadata as { name?: string } | undefined)?.name
  if (name && name !== request.name) {
    throw badRequest(`name in URL does not match name in Eviction object: ${name}`)
  }
  const target = targetOf(machinery, request)
  const pod = (await readForUpdate(machinery, target))?.object as Pod | undefined
  if (!pod) throw objectNotFound(target.ref, request.name)
  const dryRun = deletion.dryRun || options.dryRun
  if (!canGoAnyway(pod)) await useBudget(machinery, request, pod, dryRun)
  if (!dryRun) await tellWhy(machinery, request)
  await deleteNamed(machinery, request, { ...deletion, dryRun })
  return {
    type: 'plain',
    status: 201,
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
  }
}

/** Others must be able to tell a pod that was disturbed from one that failed: a Job does not count it. */
async function tellWhy(machinery: Machinery, request: ResourceRequest): Promise<void> {
  const toStatus: ResourceRequest = { ...request, subresource: 'status', query: Query.EMPTY }
  await change(machinery, toStatus, parseWriteOptions(toStatus, 'UpdateOptions'), (current) => {
    const draft = current.draft() as Pod
    delete draft.metadata.resourceVersion
    const others = draft.status?.conditions?.filter(({ type }) => type !== 'DisruptionTarget') ?? []
    const { generation } = draft.metadata
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
      lastTransitionTime: formatTime(machinery.clock.now()),
      ...(generation !== undefined && { observedGeneration: generation }),
    }
    draft.status = { ...draft.status, conditions: [...others, condition] }
    return draft
  })
}

/** A pod that does no work is nobody's loss. */
function canGoAnyway(pod: Pod): boolean {
  const phase = pod.status?.phase
  return (
    phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined
  )
}

async function useBudget(machinery: Machinery, request: ResourceRequest, pod: Pod, dryRun: boolean): Promise<void> {
  const budgets = await budgetsOf(machinery, pod)
  if (budgets.length > 1) {
    throw internalError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  }
  const budget = budgets[0]
  if (!budget || (!isReady(pod) && mayEvictUnready(budget))) return
  const kind = machinery.kinds.byResource('policy', 'v1', 'poddisruptionbudgets')!
  const toBudget: ResourceRequest = {
    ...request,
    kind,
    name: budget.metadata.name!,
    subresource: 'status',
    query: Query.EMPTY,
  }
  const options = { ...parseWriteOptions(toBudget, 'UpdateOptions'), dryRun }
  await change(machinery, toBudget, options, (current) => {
    const draft = current.draft() as PodDisruptionBudget
    delete draft.metadata.resourceVersion
    takeOne(draft, pod, machinery.clock.now())
    return draft
  })
}

async function budgetsOf(machinery: Machinery, pod: Pod): Promise<PodDisruptionBudget[]> {
  const prefix = storagePrefix({ group: 'policy', plural: 'poddisruptionbudgets' })
  const cache = await cacheOf(machinery, prefix)
  const keyPrefix = `${prefix}${pod.metadata.namespace}/`
  return cache
    .select({ id: keyPrefix, keyPrefix, exactKey: false, matches: undefined })
    .map((object) => object.object as PodDisruptionBudget)
    .filter(({ spec }) =>
      matchesLabels(
        compileLabelSelector(spec?.selector as Parameters<typeof compileLabelSelector>[0]),
        pod.metadata.labels,
      ),
    )
}

const isReady = (pod: Pod) =>
  pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false

function mayEvictUnready({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  return (status?.desiredHealthy ?? 0) > 0 && (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0)
}

function takeOne(budget: PodDisruptionBudget, pod: Pod, now: number): void {
  const status = budget.status ?? ({} as NonNullable<PodDisruptionBudget['status']>)
  budget.status = status
  const isStale = (status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)
  if (isStale) throw tooManyDisruptions('The disruption budget %s is still being processed by the server.', budget, 10)
  if ((status.disruptionsAllowed ?? 0) <= 0) {
    const { desiredHealthy = 0, currentHealthy = 0 } = status
    throw tooManyDisruptions(
      `The disruption budget %s needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
      budget,
      0,
    )
  }
  status.disruptionsAllowed = (status.disruptionsAllowed ?? 0) - 1
  status.disruptedPods = { ...status.disruptedPods, [pod.metadata.name!]: formatTime(now) }
}

function tooManyDisruptions(cause: string, budget: PodDisruptionBudget, retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message: cause.replace('%s', budget.metadata.name!) }],
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
  })
}
