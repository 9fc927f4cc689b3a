import type { ValidatingAdmissionPolicy } from '../../api/generated/admissionregistration-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Logger } from '../../base/log.ts'
import { WorkQueue } from '../../base/workqueue.ts'
import type { Transport } from '../../client/transport.ts'
import type { KindTable } from '../kind-table.ts'
import { type FollowContext, follow } from '../watch-cache/follow.ts'

const POLICIES = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
}

export interface TypeCheckContext extends FollowContext {
  readonly kinds: KindTable
  readonly log: Logger
}

/** Writes into the status of policies what is wrong with their types, until the signal aborts. Never rejects. */
export async function keepTypesChecked(context: TypeCheckContext, transport: Transport): Promise<void> {
  try {
    await checkAll(context, transport)
  } catch (error) {
    if (!context.signal.aborted) context.log.warn('types of policies are not checked', { error: String(error) })
  }
}

async function checkAll(context: TypeCheckContext, transport: Transport): Promise<void> {
  const queue = new WorkQueue(context.clock)
  const policies = new Map<string, ValidatingAdmissionPolicy>()
  context.signal.addEventListener('abort', () => queue.shutDown(), { once: true })
  await follow(context, POLICIES, (_, name, object) => {
    const policy = object as ValidatingAdmissionPolicy | undefined
    if (!policy) policies.delete(name)
    else {
      policies.set(name, policy)
      if (!isChecked(policy)) queue.add(name)
    }
  })
  for (let name = await queue.next(); name !== undefined; name = await queue.next()) {
    try {
      const policy = policies.get(name)
      if (policy && !isChecked(policy)) await check(context, transport, policy)
      queue.forget(name)
    } catch (error) {
      const isRace = error instanceof ApiError && (error.code === 409 || error.code === 404)
      if (!isRace) context.log.warn('a policy could not be checked', { policy: name, error: String(error) })
      queue.addRateLimited(name)
    } finally {
      queue.done(name)
    }
  }
}

const isChecked = ({ metadata, status }: ValidatingAdmissionPolicy) =>
  status?.typeChecking !== undefined && status.observedGeneration === metadata.generation

async function check({ kinds }: TypeCheckContext, transport: Transport, policy: ValidatingAdmissionPolicy) {
  const [{ loadExpressions }, { typeWarnings }] = await Promise.all([
    import('./matching/expressions.ts'),
    import('./policy/type-checking.ts'),
  ])
  const expressionWarnings = typeWarnings(await loadExpressions(), kinds, policy.spec ?? {})
  const typeChecking = expressionWarnings.length > 0 ? { expressionWarnings } : {}
  const status = { ...policy.status, observedGeneration: policy.metadata.generation ?? 0, typeChecking }
  const body = { ...policy, status }
  await transport.call({ verb: 'update', resource: POLICIES, name: policy.metadata.name!, subresource: 'status', body })
}
