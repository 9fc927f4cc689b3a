import type { Container, ContainerStatus, Pod, PodCondition } from '../../api/generated/core-v1.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import type { ResizeState } from '../pod/allocation.ts'

export const RESIZE_CONDITIONS: readonly string[] = ['PodResizePending', 'PodResizeInProgress']

type Draft = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>

export interface ConditionInput {
  readonly pod: Pod
  readonly phase: string
  readonly init: readonly ContainerStatus[]
  readonly containers: readonly ContainerStatus[]
  /** The sandbox runs and has its addresses. */
  readonly hasSandbox: boolean
  /** What the conditions were before; those of others are kept. */
  readonly previous: readonly PodCondition[]
  /** What is not done of a change of resources. */
  readonly resize?: { readonly pending?: ResizeState | undefined; readonly inProgress?: ResizeState | undefined }
  /** As the API writes times. */
  readonly now: string
}

/** The conditions that a kubelet writes, of real and of simulated pods; those of others are kept. */
export function podConditions(input: ConditionInput): PodCondition[] {
  const { previous, pod, now } = input
  const ready = containersReady(input)
  const drafts: Draft[] = [
    { type: 'PodReadyToStartContainers', status: input.hasSandbox ? 'True' : 'False' },
    initialized(input),
    podReady(input, ready),
    { ...ready, type: 'ContainersReady' },
    { type: 'PodScheduled', status: 'True' },
    ...resizing(input),
  ]
  const own = drafts.map((draft) => stamped(draft, previous, pod.metadata.generation, now))
  const isReplaced = (type: string) => RESIZE_CONDITIONS.includes(type) || drafts.some((draft) => draft.type === type)
  return [...own, ...previous.filter(({ type }) => !isReplaced(type))]
}

/** There only while they are true. */
function resizing({ resize = {} }: ConditionInput): Draft[] {
  const [pending, inProgress] = RESIZE_CONDITIONS as [string, string]
  return [
    ...(resize.pending ? [{ type: pending, status: 'True', ...resize.pending }] : []),
    ...(resize.inProgress ? [{ type: inProgress, status: 'True', ...resize.inProgress }] : []),
  ]
}

/** Keeps an unchanged condition as it is, and its transition time while the status stays the same. */
function stamped(
  draft: Draft,
  previous: readonly PodCondition[],
  generation: number | undefined,
  now: string,
): PodCondition {
  const { type, status, reason, message } = draft
  const known = previous.find((condition) => condition.type === type)
  const isSame = known?.status === status && known.lastTransitionTime !== undefined
  if (isSame && known.reason === reason && known.message === message && known.observedGeneration === generation)
    return known
  return {
    type,
    status,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(known?.lastProbeTime !== undefined && { lastProbeTime: known.lastProbeTime }),
    lastTransitionTime: isSame ? known.lastTransitionTime! : now,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  }
}

const named = (names: readonly string[]) => `[${names.join(' ')}]`

function initialized({ pod, phase, init, containers }: ConditionInput): Draft {
  const type = 'Initialized'
  if (phase === 'Succeeded') return { type, status: 'True', reason: 'PodCompleted' }
  const hasBegun = containers.some(
    ({ state, lastState }) => state?.running || state?.terminated || lastState?.terminated,
  )
  if (hasBegun) return { type, status: 'True' }
  const incomplete = (pod.spec?.initContainers ?? []).filter((container) => !isInitialized(container, init))
  if (incomplete.length === 0) return { type, status: 'True' }
  const message = `containers with incomplete status: ${named(incomplete.map(({ name }) => name))}`
  return { type, status: 'False', reason: 'ContainersNotInitialized', message }
}

function isInitialized(container: Container, init: readonly ContainerStatus[]): boolean {
  const status = init.find(({ name }) => name === container.name)
  return isSidecar(container) ? status?.started === true : status?.state?.terminated?.exitCode === 0
}

function containersReady({ pod, phase, init, containers }: ConditionInput): Draft {
  const type = 'ContainersReady'
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' }
  const sidecars = (pod.spec?.initContainers ?? []).filter(isSidecar)
  const unknown: string[] = []
  const unready: string[] = []
  for (const { name } of [...sidecars, ...(pod.spec?.containers ?? [])]) {
    const status = containers.find((one) => one.name === name) ?? init.find((one) => one.name === name)
    if (!status) unknown.push(name)
    else if (!status.ready) unready.push(name)
  }
  const texts = [
    ...(unknown.length > 0 ? [`containers with unknown status: ${named(unknown)}`] : []),
    ...(unready.length > 0 ? [`containers with unready status: ${named(unready)}`] : []),
  ]
  if (texts.length === 0) return { type, status: 'True' }
  return { type, status: 'False', reason: 'ContainersNotReady', message: texts.join(', ') }
}

/** Ready: the containers are, and every readiness gate is true. */
function podReady({ pod, previous }: ConditionInput, ready: Draft): Draft {
  const type = 'Ready'
  if (ready.status !== 'True') return { ...ready, type }
  const texts: string[] = []
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const gate = previous.find((condition) => condition.type === conditionType)
    if (!gate) texts.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`)
    else if (!isConditionTrue(previous, conditionType))
      texts.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`)
  }
  if (texts.length === 0) return { type, status: 'True' }
  return { type, status: 'False', reason: 'ReadinessGatesNotReady', message: texts.join(', ') }
}
