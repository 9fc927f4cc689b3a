import type {
  Container,
  ContainerRuntime,
  ContainerStatus,
  PodSandbox,
  PodSandboxStatus,
} from '../../container-runtime/runtime.ts'
import { RuntimeError } from '../../container-runtime/runtime.ts'
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from './runtime-labels.ts'

export interface RuntimeContainer extends ContainerStatus {
  /** What an ended container left as its last words. */
  readonly terminationMessage?: string
}

/** What the runtime has of one pod, the newest first. */
export interface RuntimePod {
  readonly sandboxes: readonly PodSandboxStatus[]
  readonly containers: readonly RuntimeContainer[]
}

const SIGKILLED = 137

export const NO_RUNTIME_POD: RuntimePod = { sandboxes: [], containers: [] }

export type ReadTerminationMessage = (status: ContainerStatus) => Promise<string | undefined>

/**
 * Asks the runtime; an ended container does not change any more, so what was known of it is kept. But who killed it may
 * become known later.
 */
export async function readRuntimePod(
  runtime: ContainerRuntime,
  uid: string,
  before: RuntimePod,
  readMessage: ReadTerminationMessage,
): Promise<RuntimePod> {
  const labels = { [POD_UID_LABEL]: uid }
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({ labels }),
    runtime.listContainers({ labels }),
  ])
  const known = new Map(before.containers.map((one) => [one.id, one]))
  const [sandboxStatuses, statuses] = await Promise.all([
    Promise.all(sandboxes.map((one) => sandboxStatus(runtime, one))),
    Promise.all(containers.map((one) => containerStatus(runtime, one, known.get(one.id), readMessage))),
  ])
  return {
    sandboxes: sandboxStatuses.filter((one) => one !== undefined).sort(newestSandboxFirst),
    containers: statuses.filter((one) => one !== undefined).sort(newestFirst),
  }
}

async function sandboxStatus(runtime: ContainerRuntime, { id }: PodSandbox): Promise<PodSandboxStatus | undefined> {
  return runtime.podSandboxStatus(id).catch(unlessGone)
}

async function containerStatus(
  runtime: ContainerRuntime,
  { id, state }: Container,
  known: RuntimeContainer | undefined,
  readMessage: ReadTerminationMessage,
): Promise<RuntimeContainer | undefined> {
  const isSettled = known?.state === 'EXITED' && (known.exitCode !== SIGKILLED || known.reason === 'OOMKilled')
  if (isSettled && state === 'EXITED') return known
  const status = await runtime.containerStatus(id).catch(unlessGone)
  if (status?.state !== 'EXITED') return status
  const terminationMessage = await readMessage(status)
  return terminationMessage ? { ...status, terminationMessage } : status
}

/** Between the list and the question it may have been removed. */
function unlessGone(error: unknown): undefined {
  if (error instanceof RuntimeError && error.code === 'NotFound') return undefined
  throw error
}

const newestSandboxFirst = (a: PodSandboxStatus, b: PodSandboxStatus) =>
  b.metadata.attempt - a.metadata.attempt || b.createdAt - a.createdAt

const newestFirst = (a: RuntimeContainer, b: RuntimeContainer) => b.attempt - a.attempt || b.createdAt - a.createdAt

export const containerName = (status: Container) => status.labels[CONTAINER_NAME_LABEL] ?? status.name

/** All containers of that name, the newest first. */
export function historyOf({ containers }: RuntimePod, name: string): RuntimeContainer[] {
  return containers.filter((one) => containerName(one) === name)
}

export const latestOf = ({ containers }: RuntimePod, name: string): RuntimeContainer | undefined =>
  containers.find((one) => containerName(one) === name)

export const readySandbox = ({ sandboxes }: RuntimePod): PodSandboxStatus | undefined =>
  sandboxes.find(({ state }) => state === 'READY')

export const hasRunning = ({ containers }: RuntimePod): boolean => containers.some(({ state }) => state === 'RUNNING')
