import type { CronJob, Job } from '../../api/generated/batch-v1.ts'
import { cronJobKind } from '../../api/kinds/batch/cron-job/kind.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import {
  type Controller,
  type ControllerContext,
  controllerKeys,
  type ReconcileQueue,
  type ReconcileResult,
  watch,
} from '../controller.ts'
import { LastWritten } from '../job/last-written.ts'
import { controllerIndex, dependentsOf } from '../pod-control/owner.ts'
import { CronJobPass } from './reconcile.ts'
import { scheduleOf } from './scheduled-job.ts'

/** Makes a job each time a CronJob is due. */
export function cronJobController(context: ControllerContext): Controller {
  return new CronJobController(context)
}

class CronJobController implements Controller {
  readonly name = 'cronjob-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #cronJobs: Informer<CronJob>
  readonly #jobs: Informer<Job>
  readonly #written = new LastWritten<CronJob>()
  #queue: ReconcileQueue | undefined

  constructor(context: ControllerContext) {
    this.#context = context
    this.#cronJobs = context.informers.informer(cronJobKind)
    this.#jobs = context.informers.informer(jobKind, { indexes: controllerIndex })
    this.watches = [
      watch(this.#cronJobs, (old, current) => this.#cronJobChanged(old, current)),
      watch(this.#jobs, controllerKeys('CronJob')),
    ]
  }

  start(queue: ReconcileQueue): void {
    this.#queue = queue
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const cronJob = this.#written.newest(key, this.#cronJobs.get(key))
    if (!cronJob) return
    const pass = new CronJobPass(this.#context, cronJob, dependentsOf(this.#jobs, cronJob))
    try {
      const wait = await pass.run()
      return wait === undefined ? undefined : { retryAfter: wait }
    } finally {
      await this.#write(key, cronJob, pass)
    }
  }

  async #write(key: string, cronJob: CronJob, { status }: CronJobPass): Promise<void> {
    const { active = [], ...rest } = status
    const wanted = active.length > 0 ? status : rest
    if (deepEqual(wanted, cronJob.status ?? {})) return
    const client = this.#context.client.resource(cronJobKind).namespace(cronJob.metadata.namespace ?? '')
    this.#written.set(key, await client.updateStatus({ ...cronJob, status: wanted }))
  }

  /** A new schedule holds from now on: what it would have meant for the past is not made up for. */
  #cronJobChanged(old: CronJob | undefined, current: CronJob | undefined): string[] {
    const cronJob = (current ?? old)!
    const key = objectKey(cronJob)
    const isRescheduled =
      old && current && (old.spec.schedule !== current.spec.schedule || old.spec.timeZone !== current.spec.timeZone)
    const times = isRescheduled && this.#queue ? scheduleOf(current) : undefined
    if (!times || 'reason' in times) return [key]
    const now = this.#context.clock.now()
    const next = times.next(now)
    if (next !== undefined) this.#queue!.addAfter(key, next - now)
    return []
  }
}
