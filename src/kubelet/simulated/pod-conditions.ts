import type { ContainerStatus, Pod, PodCondition } from '../../api/generated/core-v1.ts'
import { isConditionTrue, withCondition } from '../../api/meta/conditions.ts'

type Draft = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>

/** The conditions a kubelet writes; those of others are kept. */
export function podConditions(
  pod: Pod,
  phase: string,
  init: readonly ContainerStatus[],
  containers: readonly ContainerStatus[],
  now: string,
): PodCondition[] {
  const { generation } = pod.metadata
  const ready = containersReady(phase, pod, init, containers)
  const drafts: Draft[] = [
    { type: 'PodReadyToStartContainers', status: phase === 'Succeeded' || phase === 'Failed' ? 'False' : 'True' },
    initialized(phase, pod, init),
    podReady(pod, ready),
    { ...ready, type: 'ContainersReady' },
    { type: 'PodScheduled', status: 'True' },
  ]
  let conditions: readonly PodCondition[] = pod.status?.conditions ?? []
  for (const draft of drafts) {
    const known = conditions.find(({ type }) => type === draft.type)
    // A reason that no longer holds must go, which a merge of old and new would not do.
    const condition: PodCondition = { ...draft, ...(generation !== undefined && { observedGeneration: generation }) }
    if (known && (known.reason !== draft.reason || known.message !== draft.message)) {
      const { reason: _reason, message: _message, ...rest } = known
      conditions = conditions.map((one) => (one === known ? rest : one))
    }
    conditions = withCondition(conditions, condition, now)
  }
  return conditions as PodCondition[]
}

function initialized(phase: string, pod: Pod, init: readonly ContainerStatus[]): Draft {
  if (phase === 'Succeeded') return { type: 'Initialized', status: 'True', reason: 'PodCompleted' }
  const sidecars = new Set(pod.spec?.initContainers?.filter((c) => c.restartPolicy === 'Always').map((c) => c.name))
  const open = init.filter(({ name, state, started }) =>
    sidecars.has(name) ? !started && !state?.terminated : state?.terminated?.exitCode !== 0,
  )
  if (open.length === 0) return { type: 'Initialized', status: 'True' }
  const message = `containers with incomplete status: [${open.map(({ name }) => name).join(' ')}]`
  return { type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized', message }
}

function containersReady(
  phase: string,
  pod: Pod,
  init: readonly ContainerStatus[],
  containers: readonly ContainerStatus[],
): Omit<Draft, 'type'> {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  const sidecars = new Set(pod.spec?.initContainers?.filter((c) => c.restartPolicy === 'Always').map((c) => c.name))
  const counted = [...init.filter(({ name }) => sidecars.has(name)), ...containers]
  const unready = counted.filter(({ ready }) => !ready).map(({ name }) => name)
  if (unready.length === 0 && counted.length > 0) return { status: 'True' }
  const message = `containers with unready status: [${unready.join(' ')}]`
  return { status: 'False', reason: 'ContainersNotReady', message }
}

/** A pod is ready when its containers are and everybody whom its readiness gates name says so. */
function podReady(pod: Pod, containers: Omit<Draft, 'type'>): Draft {
  if (containers.status !== 'True') return { ...containers, type: 'Ready' }
  const missing: string[] = []
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const known = pod.status?.conditions?.find(({ type }) => type === conditionType)
    if (!known) missing.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`)
    else if (!isConditionTrue([known], conditionType))
      missing.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${known.status}`)
  }
  if (missing.length === 0) return { type: 'Ready', status: 'True' }
  return { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: missing.join(', ') }
}
