import type { Job } from '../../api/generated/batch-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { type Controller, type ControllerContext, ownKey, splitKey, watch } from '../controller.ts'

/** Deletes finished Jobs, with their pods, when their time to live is over. */
export function ttlAfterFinishedController({ client, clock, informers }: ControllerContext): Controller {
  const jobs = informers.informer(jobKind)
  return {
    name: 'ttl-after-finished-controller',
    workers: 5,
    watches: [watch(jobs, (old, current) => (expiryOf(current) === undefined ? [] : ownKey(old, current)))],
    async reconcile(key) {
      const wait = (expiryOf(jobs.get(key)) ?? Number.POSITIVE_INFINITY) - clock.now()
      if (wait === Number.POSITIVE_INFINITY) return
      if (wait > 0) return { retryAfter: wait }
      const { namespace, name } = splitKey(key)
      const resource = client.resource(jobKind).namespace(namespace)
      try {
        // The informer may be behind: somebody may just have raised the time.
        const latest = await resource.get(name)
        if ((expiryOf(latest) ?? Number.POSITIVE_INFINITY) > clock.now()) return
        const { uid, resourceVersion } = latest.metadata
        const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
        await resource.delete(name, { propagationPolicy: 'Foreground', preconditions })
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 404)) throw error
      }
    },
  }
}

/** When the job goes, in milliseconds; undefined if it does not. */
function expiryOf(job: Job | undefined): number | undefined {
  const ttl = job?.spec?.ttlSecondsAfterFinished
  if (ttl === undefined || job?.metadata.deletionTimestamp !== undefined) return undefined
  const end = job?.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  )
  const finishedAt = parseTime(end?.lastTransitionTime ?? '')
  return finishedAt === undefined ? undefined : finishedAt + ttl * 1000
}
