import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { EndpointsResult, ScaleResult, StartResult } from './control-loops-job.ts'
import type { Row, Section } from './report.ts'

const execute = promisify(execFile)

async function job<T>(...args: readonly (string | number)[]): Promise<T> {
  const script = path.join(import.meta.dirname, 'control-loops-job.js')
  const { stdout } = await execute(process.execPath, [script, ...args.map(String)])
  return JSON.parse(stdout) as T
}

/** kwok's own gates for 5,000 nodes and 10,000 pods: a minute each. */
const KWOK_SECONDS = 120

export const controlLoopsSection: Section = {
  name: 'control-loops',
  title: 'Whole clusters in one process: all controllers, the scheduler, simulated nodes',
  async run({ quick }) {
    const share = quick ? 0.1 : 1
    const wide = await job<ScaleResult>(5000 * share, 10_000 * share)
    const deep = await job<ScaleResult>(1000 * share, 30_000 * share)
    const start = await job<StartResult>('start')
    const endpoints = await job<EndpointsResult>('endpoints', 5000 * share)
    return [wideRow(wide, share), deepRow(deep, share), ...startRows(start), endpointsRow(endpoints, share)]
  },
}

function wideRow({ nodesReady, podsRunning, processor }: ScaleResult, share: number): Row {
  const total = nodesReady + podsRunning
  return {
    what: `${5000 * share} nodes Ready, then ${10_000 * share} pods Running`,
    ours: `${nodesReady.toFixed(1)} s + ${podsRunning.toFixed(1)} s (${processor.toFixed(1)} s of CPU)`,
    peer: `kwok's gates: ${KWOK_SECONDS} s`,
    ratio: total / (KWOK_SECONDS * share),
    goal: `at most ${10 * share} s`,
  }
}

function deepRow({ residentBytes, podsRunning }: ScaleResult, share: number): Row {
  return {
    what: `memory of ${1000 * share} nodes and ${30_000 * share} pods`,
    ours: `${Math.round(residentBytes / 1e6)} MB, ${podsRunning.toFixed(1)} s`,
    peer: '',
    goal: 'at most 1000 MB',
  }
}

function startRows({ running, overhead }: StartResult): Row[] {
  const row = (what: string, milliseconds: number, goal: string): Row => ({
    what,
    ours: `${Math.round(milliseconds)} ms`,
    peer: '',
    goal,
  })
  return [
    row('startCluster() to a Running pod, warm', running, 'under 300 ms'),
    row('what a test cluster costs its suite: start and disposal', overhead, 'under 100 ms'),
  ]
}

function endpointsRow({ processor, sliceWrites }: EndpointsResult, share: number): Row {
  return {
    what: `one pod's change behind a Service with ${5000 * share} endpoints`,
    ours: `${Math.round(processor)} us of CPU, ${sliceWrites.toFixed(2)} slice writes`,
    peer: '',
    goal: 'under 1000 us, 1 write',
  }
}
