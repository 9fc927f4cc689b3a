import type { ContainerStatus, Pod, PodCondition } from '../../api/generated/core-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { extended } from '../../base/extended.ts'

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
  const conditions = [...(pod.status?.conditions ?? [])]
  for (const draft of drafts) {
    const index = conditions.findIndex(({ type }) => type === draft.type)
    if (index < 0) conditions.push(newCondition(draft, generation, now))
    else conditions[index] = nextCondition(conditions[index]!, draft, generation, now)
  }
  return conditions
}

/** Made by the thousand: fields are written out, so that all of them have one of two shapes. */
function newCondition(draft: Draft, observedGeneration: number | undefined, now: string): PodCondition {
  const { type, status, reason, message } = draft
  if (reason === undefined && observedGeneration !== undefined)
    return { type, status, observedGeneration, lastTransitionTime: now }
  return {
    type,
    status,
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    lastTransitionTime: now,
  }
}

/** What others wrote into it stays (`lastProbeTime`); a reason that no longer holds goes. */
function nextCondition(known: PodCondition, draft: Draft, generation: number | undefined, now: string): PodCondition {
  const isSame = known.status === draft.status
  const observedGeneration = generation ?? known.observedGeneration
  if (
    isSame &&
    known.reason === draft.reason &&
    known.message === draft.message &&
    known.observedGeneration === observedGeneration &&
    known.lastTransitionTime !== undefined
  )
    return known
  const { reason: _reason, message: _message, ...rest } = known
  const lastTransitionTime = (isSame ? known.lastTransitionTime : undefined) ?? now
  return extended(rest, newCondition(draft, observedGeneration, lastTransitionTime)) as PodCondition
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
