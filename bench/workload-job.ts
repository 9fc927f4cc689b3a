import { runWorkload, type WorkloadResult } from './scheduler/run-workload.ts'
import { type StageShares, stageShares } from './scheduler/stage-shares.ts'
import { WORKLOADS } from './scheduler/workloads.ts'

/** Runs in a process of its own: `node workload-job.js <workload> <scale>`. Prints one line of JSON. */

export interface WorkloadReport extends WorkloadResult {
  /** Where the CPU of another run went, if this one stayed below ten times its threshold. */
  readonly shares?: StageShares
}

const WARM_UP_PODS = 5000

async function report(name: string, scale: number): Promise<WorkloadReport> {
  const workload = WORKLOADS.find((one) => one.name === name)
  if (!workload) throw new Error(`no workload ${name}`)
  // The first pods of a process pay for its compilation.
  await runWorkload(workload, { scale: Math.min(1, WARM_UP_PODS / workload.measured) })
  const result = await runWorkload(workload, { scale })
  if (workload.threshold && result.rate >= 10 * workload.threshold) return result
  const shares = await stageShares((around) => runWorkload(workload, { scale, around }))
  return { ...result, shares }
}

const [name = '', scale = '1'] = process.argv.slice(2)
console.log(JSON.stringify(await report(name, Number(scale))))
