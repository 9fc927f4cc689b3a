import type { Job, JobStatus } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { ResourceClient } from '../../client/client.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import { type Controller, type ControllerContext, type ReconcileResult, watch } from '../controller.ts'
import { claim } from '../pod-control/claim.ts'
import { Expectations } from '../pod-control/expectations.ts'
import { controllerIndex, controllerOf, dependentsOf, isControlledBy } from '../pod-control/owner.ts'
import { createPodControl, type PodControl } from '../pod-control/pod-control.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { watchDependents } from '../pod-control/watch-dependents.ts'
import { type Backoff, NO_BACKOFF } from './backoff.ts'
import { isTracked, TRACKING_FINALIZER } from './job-pod.ts'
import { LastWritten } from './last-written.ts'
import { isJobFinished } from './outcome.ts'
import { reconcileJob } from './reconcile.ts'

const CONTROLLER_NAME = 'kubernetes.io/job-controller'
const STRATEGIC = { type: 'application/strategic-merge-patch+json' } as const
/** Keys of pods that may have outlived their job, beside the keys of jobs. */
const POD_KEY = 'pod:'
/** A pass looks at all pods of a job. With more than this many, changes are gathered: a millisecond for two pods. */
const FEW_PODS = 200
const MAX_REST = 1000

/** Runs a job's pods to completion and counts how each of them ended, exactly once. */
export function jobController(context: ControllerContext): Controller {
  return new JobController(context)
}

const isForeign = ({ spec }: Job) => spec?.managedBy !== undefined && spec.managedBy !== CONTROLLER_NAME

class JobController implements Controller {
  readonly name = 'job-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #jobs: Informer<Job>
  readonly #pods: Informer<Pod>
  readonly #expectations: Expectations<Pod>
  readonly #podControl: PodControl
  readonly #backoffs = new Map<string, Backoff>()
  /** When large jobs may be looked at again. */
  readonly #restUntil = new Map<string, number>()
  /** Counting from an older status would count twice. */
  readonly #written = new LastWritten<Job>()
  /** Uids of pods whose finalizer was removed, until the informer shows it. */
  readonly #released = new Set<string>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#jobs = context.informers.informer(jobKind)
    this.#pods = context.informers.informer(podKind, { indexes: controllerIndex })
    this.#expectations = new Expectations(this.#pods, context.clock)
    this.#podControl = createPodControl(context, this.#expectations)
    this.watches = [
      this.#expectations.watch,
      watch(this.#jobs, (old, current) => this.#jobChanged(old, current)),
      watch(this.#pods, (old, current) => this.#podChanged(old, current)),
      watchDependents(this.#pods, this.#jobs, 'Job', (job) => compiledSelector(job.spec?.selector)),
    ]
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    if (key.startsWith(POD_KEY)) return await this.#reconcilePod(key.slice(POD_KEY.length))
    const job = this.#written.newest(key, this.#jobs.get(key))
    if (!job || isJobFinished(job) || isForeign(job)) {
      this.#backoffs.delete(key)
      this.#restUntil.delete(key)
      this.#expectations.forget(key)
      return
    }
    const rest = (this.#restUntil.get(key) ?? 0) - this.#context.clock.now()
    if (rest > 0) return { retryAfter: rest }
    // Both from before the pods are read: what is seen during this pass is not in what this pass looks at.
    const isUpToDate = this.#expectations.waitTime(key) === 0
    const released = new Set(this.#released)
    const pods = await this.#claimPods(job)
    if (pods.length > FEW_PODS)
      this.#restUntil.set(key, this.#context.clock.now() + Math.min(pods.length / 2, MAX_REST))
    return await reconcileJob({
      context: this.#context,
      job,
      pods,
      podControl: this.#podControl,
      isUpToDate,
      backoff: this.#backoffs.get(key) ?? NO_BACKOFF,
      setBackoff: (backoff) => void this.#backoffs.set(key, backoff),
      isReleased: (uid) => released.has(uid),
      release: (pod) => this.#release(pod),
      writeStatus: (current, status) => this.#writeStatus(key, current, status),
    })
  }

  async #writeStatus(key: string, job: Job, status: JobStatus): Promise<Job> {
    const { namespace = '' } = job.metadata
    const written = await this.#context.client
      .resource(jobKind)
      .namespace(namespace)
      .updateStatus({ ...job, status })
    this.#written.set(key, written)
    return written
  }

  /** A pod that is adopted has to be tracked like one that was made here. */
  async #claimPods(job: Job): Promise<Pod[]> {
    const { namespace = '' } = job.metadata
    const { client } = this.#context
    const pods = await claim({
      owner: job,
      ownerKind: jobKind,
      selector: compiledSelector(job.spec?.selector),
      informer: this.#pods,
      dependents: client.resource(podKind).namespace(namespace),
      owners: client.resource(jobKind).namespace(namespace),
    })
    const track = async (pod: Pod): Promise<Pod> => {
      if (isControlledBy(pod, job) || isTracked(pod)) return pod
      const patch = { metadata: { finalizers: [TRACKING_FINALIZER] } }
      return await client.resource(podKind).namespace(namespace).patch(pod.metadata.name!, patch, STRATEGIC)
    }
    return await Promise.all(pods.map(track))
  }

  async #release(pod: Pod): Promise<boolean> {
    const { namespace = '', name = '', uid = '' } = pod.metadata
    const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } }
    const pods = this.#context.client.resource(podKind).namespace(namespace)
    this.#released.add(uid)
    try {
      await pods.patch(name, patch, STRATEGIC)
    } catch (error) {
      this.#released.delete(uid)
      if (!(error instanceof ApiError) || (error.code !== 404 && (await isStillThere(pods, pod)))) throw error
    }
    const shown = this.#pods.get(objectKey(pod))
    if (shown?.metadata.uid !== uid || !isTracked(shown)) this.#released.delete(uid)
    return true
  }

  /** Pods of a job that is gone or has finished are held by nobody. */
  async #reconcilePod(key: string): Promise<void> {
    const pod = this.#pods.get(key)
    if (pod && this.#isForsaken(pod)) await this.#release(pod)
  }

  #isForsaken(pod: Pod): boolean {
    if (!isTracked(pod)) return false
    const owner = controllerOf(pod)
    if (!owner) return true
    if (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1') return false
    const job = this.#jobs.get(`${pod.metadata.namespace}/${owner.name}`)
    if (!job || job.metadata.uid !== owner.uid) return true
    return !isForeign(job) && isJobFinished(job)
  }

  #jobChanged(old: Job | undefined, current: Job | undefined): string[] {
    const job = (current ?? old)!
    const key = objectKey(job)
    if (current && !isJobFinished(current)) return [key]
    return [key, ...dependentsOf(this.#pods, job).filter(isTracked).map(podKey)]
  }

  #podChanged(old: Pod | undefined, current: Pod | undefined): string[] {
    const { uid = '' } = (current ?? old)!.metadata
    if (!current || !isTracked(current)) this.#released.delete(uid)
    return current && this.#isForsaken(current) ? [podKey(current)] : []
  }
}

/** A patch that was refused may have met a namesake. */
async function isStillThere(pods: ResourceClient<Pod>, { metadata }: Pod): Promise<boolean> {
  const current = await pods.get(metadata.name ?? '').catch(() => undefined)
  return current?.metadata.uid === metadata.uid
}

const podKey = (pod: Pod) => `${POD_KEY}${objectKey(pod)}`
