import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Container, Pod, Secret } from '../../api/generated/core-v1.ts'
import type { Image } from '../../container-runtime/image-service.ts'
import { RuntimeError } from '../../container-runtime/runtime.ts'
import type { PodSandboxConfig } from '../../container-runtime/sandbox-config.ts'
import { runHook } from '../hooks/hooks.ts'
import { ImageError } from '../images/image-puller.ts'
import { secondsText } from '../pod/backoff.ts'
import { containerHash, podText } from '../pod/runtime-labels.ts'
import { latestOf, type RuntimePod } from '../pod/runtime-pod.ts'
import type { MountedVolume } from '../volumes/volume-plugin.ts'
import { containerConfig } from './container-config.ts'
import { killContainer, killGrace } from './kill-container.ts'
import { recordContainer, type WorkerContext } from './worker-context.ts'

/** Why a container was not started, in the words of its status. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly reason: string
  /** When it may be tried again; undefined: with the next look at the pod. */
  readonly retryAt: number | undefined

  constructor(reason: string, message: string, retryAt?: number) {
    super(message)
    this.reason = reason
    this.retryAt = retryAt
  }
}

export interface StartInput {
  readonly pod: Pod
  readonly container: Container
  readonly runtime: RuntimePod
  readonly sandboxId: string
  readonly sandbox: PodSandboxConfig
  readonly podIPs: readonly string[]
  readonly volumes: ReadonlyMap<string, MountedVolume>
  /** How often the API says that it was started. */
  readonly knownRestarts: number | undefined
  readonly signal: AbortSignal
}

/** Image, container, start, postStart hook. */
export async function startContainer(context: WorkerContext, input: StartInput): Promise<void> {
  const { pod, container, signal } = input
  waitForBackoff(context, input)
  const image = await ensureImage(context, input, container)
  const volumeImages = await ensureVolumeImages(context, input)
  const attempt = nextAttempt(input)
  const failing = (reason: string) => (error: unknown) => {
    signal.throwIfAborted()
    const { message } = error as Error
    recordContainer(context, pod, container, 'Warning', 'Failed', `Error: ${message}`)
    throw new StartFailure(reason, message)
  }
  const { podIPs, volumes, sandbox, sandboxId } = input
  const config = await containerConfig(context, {
    pod,
    container,
    attempt,
    image,
    podIPs,
    volumes,
    volumeImages,
  }).catch(failing('CreateContainerConfigError'))
  await mkdir(path.join(sandbox.logDirectory, container.name), { recursive: true })
  const id = await context.runtime.createContainer(sandboxId, config, sandbox).catch(failing('CreateContainerError'))
  recordContainer(context, pod, container, 'Normal', 'Created', 'Container created')
  await context.runtime.startContainer(id).catch(failing('RunContainerError'))
  recordContainer(context, pod, container, 'Normal', 'Started', 'Container started')
  if (container.resources?.limits) await tellOfLimits(context, input, id)
  if (container.lifecycle?.postStart) await postStart(context, input, id)
}

async function ensureImage(context: WorkerContext, { pod, signal }: StartInput, container: Container): Promise<Image> {
  try {
    return await context.puller.ensureImage(pod, container, await pullSecrets(context, pod), signal)
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    recordContainer(context, pod, container, 'Warning', 'Failed', `Error: ${error.reason}`)
    throw new StartFailure(error.reason, error.message, error.retryAt)
  }
}

/** Images that are volumes of the container: their ids by the names of the volumes. */
async function ensureVolumeImages(context: WorkerContext, input: StartInput): Promise<Map<string, string>> {
  const { name, volumeMounts = [] } = input.container
  const found = new Map<string, string>()
  for (const mount of volumeMounts) {
    const wanted = input.volumes.get(mount.name)?.image
    if (!wanted || found.has(mount.name)) continue
    const imagePullPolicy = wanted.pullPolicy ?? 'IfNotPresent'
    const { id } = await ensureImage(context, input, { name, image: wanted.reference, imagePullPolicy })
    found.set(mount.name, id)
  }
  return found
}

/** A limit that nobody enforces is worse than none, unless one knows. */
async function tellOfLimits(context: WorkerContext, { pod, container }: StartInput, id: string): Promise<void> {
  const { unenforcedLimits = [] } = await context.runtime.containerStatus(id)
  if (unenforcedLimits.length === 0) return
  const message = `Limits of ${unenforcedLimits.join(' and ')} are not enforced: this node cannot write the cgroups for them`
  recordContainer(context, pod, container, 'Warning', 'LimitsNotEnforced', message)
}

function nextAttempt({ runtime, container, knownRestarts }: StartInput): number {
  const latest = latestOf(runtime, container.name)
  if (latest) return latest.attempt + 1
  return knownRestarts === undefined ? 0 : knownRestarts + 1
}

/** A container that ended a moment ago waits, longer each time; the first time it does not. */
function waitForBackoff(context: WorkerContext, { pod, container, runtime }: StartInput): void {
  const latest = latestOf(runtime, container.name)
  if (latest?.state !== 'EXITED') return
  const key = `${pod.metadata.uid}_${container.name}_${containerHash(container)}`
  const now = context.clock.now()
  const ended = latest.finishedAt ?? now
  const waiting = context.restartBackoff.waitSince(key, ended, now)
  if (!waiting) {
    context.restartBackoff.next(key, ended, now)
    return
  }
  const message = `back-off ${secondsText(waiting.wait)} restarting failed container=${container.name} pod=${podText(pod)}`
  const event = `Back-off restarting failed container ${container.name} in pod ${podText(pod)}`
  recordContainer(context, pod, container, 'Warning', 'BackOff', event)
  throw new StartFailure('CrashLoopBackOff', message, waiting.until)
}

async function pullSecrets({ source }: WorkerContext, { metadata, spec }: Pod): Promise<Secret[]> {
  const names = (spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? [])
  const found = await Promise.all(names.map((name) => source.secret(metadata.namespace ?? '', name)))
  return found.filter((secret) => secret !== undefined)
}

/** A container whose postStart hook fails is killed. */
async function postStart(context: WorkerContext, input: StartInput, id: string): Promise<void> {
  const { pod, container, podIPs, signal } = input
  const podIP = podIPs[0] ?? ''
  try {
    await runHook(context, container.lifecycle!.postStart!, container, id, podIP, signal)
  } catch (error) {
    if (signal.aborted) return
    context.log.debug('a postStart hook failed', { container: container.name, error: String(error) })
    recordContainer(context, pod, container, 'Warning', 'FailedPostStartHook', 'PostStartHook failed')
    const status = await context.runtime.containerStatus(id)
    const graceSeconds = killGrace(pod, container, 'FailedPostStartHook')
    await killContainer(context, { pod, container, status, podIP, graceSeconds, message: 'FailedPostStartHook' })
    throw new StartFailure('PostStartHookError', (error as Error).message)
  }
}

/** Whether the runtime itself is at fault, so that trying again soon makes sense. */
export const isUnavailable = (error: unknown) => error instanceof RuntimeError && error.code === 'Unavailable'
