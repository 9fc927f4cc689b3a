import { createHash } from 'node:crypto'
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
} from '../../api/generated/core-v1.ts'
import { formatTime, parseTime } from '../../api/meta/time.ts'
import type { Program } from './program.ts'

/** What a container comes to, and when it has to be looked at again. */
export interface ContainerStep {
  readonly status: ContainerStatus
  /** Milliseconds since the epoch. */
  readonly wakeAt: number | undefined
}

export interface ContainerInput {
  readonly pod: Pod
  readonly container: Container
  readonly program: Program
  readonly known: ContainerStatus | undefined
  /** False while containers before it hold it up. */
  readonly mayStart: boolean
  readonly waitingReason: 'ContainerCreating' | 'PodInitializing'
  readonly restarts: 'Always' | 'OnFailure' | 'Never'
  readonly now: number
}

const FIRST_BACKOFF = 10_000
const LONGEST_BACKOFF = 300_000
/** Whoever ran this long starts with a clean record. */
const BACKOFF_RESET = 2 * LONGEST_BACKOFF
/** How long an image pull is reported as failed before it is reported as backed off. */
const PULL_ERROR_SHOWN = 1000

/** Moves a container on to where it is at `now`: pure, from what its status says it was doing. */
export function stepContainer(input: ContainerInput): ContainerStep {
  const { pod, program, now } = input
  let status = input.known ?? waiting(input, input.waitingReason)
  if (status.state?.waiting && !status.lastState?.terminated) {
    if (!input.mayStart) return still(waiting(input, input.waitingReason))
    if (program.failure) return stepFailure(input, status)
    const startAt = (parseTime(pod.status?.startTime ?? '') ?? now) + program.startAfter
    if (now < startAt) return { status, wakeAt: startAt }
    status = running(input, now)
  }
  for (;;) {
    const { state, lastState } = status
    if (state?.running) {
      const exited = exitOf(status, program)
      if (!exited) return still(ready(status, true))
      if (exited.at > now) return readiness(status, program, now, exited.at)
      status = { ...stopped(status), state: { terminated: exited.state } }
      continue
    }
    const ended = state?.terminated ?? lastState?.terminated
    if (!ended || !mustRestart(input.restarts, ended)) return still(status)
    const restartAt = (parseTime(ended.finishedAt ?? '') ?? now) + backoff(status.restartCount, ended)
    if (restartAt > now) return { status: crashLoop(input, status, ended), wakeAt: restartAt }
    status = running(input, now, status.restartCount + 1, ended)
  }
}

const still = (status: ContainerStatus): ContainerStep => ({ status, wakeAt: undefined })

function readiness(status: ContainerStatus, program: Program, now: number, exitAt: number): ContainerStep {
  const startedAt = parseTime(status.state?.running?.startedAt ?? '') ?? now
  const readyAt = startedAt + program.readyAfter
  return readyAt <= now
    ? { status: ready(status, true), wakeAt: exitAt }
    : { status: ready(status, false), wakeAt: Math.min(readyAt, exitAt) }
}

function exitOf(
  status: ContainerStatus,
  { exitAfter, exitCode, readyAfter }: Program,
): { at: number; state: ContainerStateTerminated } | undefined {
  if (exitAfter === undefined && readyAfter === 0) return undefined
  const startedAt = status.state!.running!.startedAt ?? ''
  const at = (parseTime(startedAt) ?? 0) + (exitAfter ?? Number.POSITIVE_INFINITY)
  return { at, state: terminated(status, exitCode, startedAt, Number.isFinite(at) ? formatTime(at) : '') }
}

function terminated(status: ContainerStatus, exitCode: number, startedAt: string, finishedAt: string) {
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  return { containerID: status.containerID ?? '', exitCode, reason, startedAt, finishedAt }
}

/** The container as it is after it was told to stop. */
export function stopContainer(status: ContainerStatus, exitCode: number, now: number): ContainerStatus {
  const { running: run } = status.state ?? {}
  if (!run) return status
  const state = { terminated: terminated(status, exitCode, run.startedAt ?? '', formatTime(now)) }
  return { ...stopped(status), state }
}

const stopped = (status: ContainerStatus): ContainerStatus => ({ ...status, ready: false, started: false })

const ready = (status: ContainerStatus, isReady: boolean): ContainerStatus =>
  status.ready === isReady ? status : { ...status, ready: isReady }

function mustRestart(policy: ContainerInput['restarts'], { exitCode }: ContainerStateTerminated): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

/** The first restart comes at once, later ones after 10 s, 20 s, ... up to 5 min. */
function backoff(restartCount: number, ended: ContainerStateTerminated): number {
  const ran = (parseTime(ended.finishedAt ?? '') ?? 0) - (parseTime(ended.startedAt ?? '') ?? 0)
  if (restartCount === 0 || ran > BACKOFF_RESET) return 0
  return Math.min(FIRST_BACKOFF * 2 ** (restartCount - 1), LONGEST_BACKOFF)
}

function crashLoop(input: ContainerInput, status: ContainerStatus, ended: ContainerStateTerminated): ContainerStatus {
  const { metadata } = input.pod
  const pause = humanSeconds(backoff(status.restartCount, ended) / 1000)
  const message = `back-off ${pause} restarting failed container=${input.container.name} pod=${metadata.name}_${metadata.namespace}(${metadata.uid})`
  return {
    ...stopped(status),
    state: { waiting: { reason: 'CrashLoopBackOff', message } },
    lastState: { terminated: ended },
  }
}

const humanSeconds = (seconds: number) =>
  seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`

function stepFailure(input: ContainerInput, status: ContainerStatus): ContainerStep {
  const image = input.container.image ?? ''
  if (input.program.failure === 'config') {
    const message = 'the simulated container cannot be created'
    return still({ ...status, state: { waiting: { reason: 'CreateContainerConfigError', message } } })
  }
  const error = `failed to pull and unpack image "${fullImageName(image)}": failed to resolve reference "${fullImageName(image)}": ${fullImageName(image)}: not found`
  const before = status.state?.waiting?.reason
  const backOffAt = (parseTime(input.pod.status?.startTime ?? '') ?? input.now) + PULL_ERROR_SHOWN
  if (before !== 'ImagePullBackOff' && (before !== 'ErrImagePull' || input.now < backOffAt)) {
    const state = { waiting: { reason: 'ErrImagePull', message: error } }
    return { status: { ...status, state }, wakeAt: Math.max(backOffAt, input.now + 1) }
  }
  const message = `Back-off pulling image "${image}": ErrImagePull: ${error}`
  return still({ ...status, state: { waiting: { reason: 'ImagePullBackOff', message } } })
}

function waiting(input: ContainerInput, reason: string): ContainerStatus {
  const { known } = input
  if (known?.state?.waiting?.reason === reason) return known
  return statusOf(input, { waiting: { reason } })
}

function running(input: ContainerInput, now: number, restartCount = 0, ended?: ContainerStateTerminated) {
  const status = statusOf(input, { running: { startedAt: formatTime(now) } }, restartCount, ended)
  return { ...status, started: true, ready: input.program.readyAfter === 0 }
}

function statusOf(
  { pod, container }: ContainerInput,
  state: ContainerState,
  restartCount = 0,
  ended?: ContainerStateTerminated,
): ContainerStatus {
  const image = container.image ?? ''
  const isStarted = state.running !== undefined
  const { resources, volumeMounts } = container
  return {
    name: container.name,
    state,
    lastState: ended ? { terminated: ended } : {},
    ready: false,
    restartCount,
    image: isStarted ? fullImageName(image) : image,
    imageID: isStarted ? imageID(image) : '',
    started: false,
    ...(isStarted && { containerID: containerID(pod.metadata.uid ?? '', container.name, restartCount) }),
    ...(isStarted && resources?.requests && { allocatedResources: resources.requests }),
    ...(isStarted && { resources: resources ?? {} }),
    ...(isStarted && volumeMounts && { volumeMounts: volumeMounts.map(mountStatus) }),
  }
}

function mountStatus({ name, mountPath, readOnly }: NonNullable<Container['volumeMounts']>[number]) {
  return { name, mountPath, ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }) }
}

function containerID(uid: string, name: string, restartCount: number): string {
  return `simulated://${createHash('sha256').update(`${uid}/${name}/${restartCount}`).digest('hex')}`
}

/** `nginx` -> `docker.io/library/nginx:latest` */
export function fullImageName(image: string): string {
  const slash = image.indexOf('/')
  const host = slash < 0 ? '' : image.slice(0, slash)
  const hasHost = host === 'localhost' || /[.:]/.test(host)
  const name = hasHost ? image : slash < 0 ? `docker.io/library/${image}` : `docker.io/${image}`
  return name.includes('@') || name.lastIndexOf(':') > name.lastIndexOf('/') ? name : `${name}:latest`
}

/** `a/b:tag@sha256:…` -> `a/b:tag`, `a/b:tag` -> `a/b` */
function withoutTag(name: string): string {
  const digest = name.indexOf('@')
  return name.slice(0, digest >= 0 ? digest : name.lastIndexOf(':'))
}

const imageIDs = new Map<string, string>()
const MAX_IMAGES = 10_000

function imageID(image: string): string {
  const known = imageIDs.get(image)
  if (known !== undefined) return known
  const name = withoutTag(fullImageName(image))
  const id = `${name}@sha256:${createHash('sha256').update(image).digest('hex')}`
  if (imageIDs.size >= MAX_IMAGES) imageIDs.clear()
  imageIDs.set(image, id)
  return id
}
