import { decisionRates, workloadReport } from '../children.ts'
import type { Row, Section } from '../report.ts'
import type { Mix } from '../scheduler/decisions.ts'
import { formatShares } from '../scheduler/stage-shares.ts'
import { WORKLOADS, type Workload } from '../scheduler/workloads.ts'

const MIXES: readonly Mix[] = ['basic', 'default spread', 'mixed']
const SIZES = [100, 1000, 5000, 15_000]

export const schedulerSection: Section = {
  name: 'scheduler',
  title: 'Scheduling, the best of three; beside: what kube-scheduler must reach in its own benchmark (pods/s)',
  async run({ quick }) {
    const rows: Row[] = []
    const pods = quick ? 20_000 : 60_000
    for (const mix of MIXES) {
      const { cold, steady } = await decisionRates(5000, pods, mix)
      rows.push(decisions(`decisions, 5,000 nodes, ${mix}, cold`, cold, 'above 10,000/s'))
      rows.push(decisions(`decisions, 5,000 nodes, ${mix}, steady`, steady, 'above 40,000/s'))
    }
    for (const size of SIZES) {
      const { steady } = await decisionRates(size, pods, 'basic')
      rows.push(decisions(`decisions, ${size} nodes, basic, steady`, steady, ''))
    }
    for (const workload of WORKLOADS) rows.push(...(await workloadRows(workload, quick ? 0.2 : 1)))
    return rows
  },
}

async function workloadRows(workload: Workload, scale: number): Promise<Row[]> {
  const { rate, cpu, shares } = await workloadReport(workload.name, scale)
  const { name, threshold } = workload
  const row: Row = {
    what: `${name}, create to bound`,
    ours: `${rate.toFixed(0)}/s, ${cpu.toFixed(0)} us CPU`,
    peer: threshold ? `${threshold}/s` : '',
    ...(threshold && { ratio: rate / threshold }),
    goal: name === 'SchedulingBasic' ? '5,000/s' : threshold ? 'at least 10' : 'not checked there',
  }
  if (!shares) return [row]
  return [row, { what: '  its CPU by stage', ours: '', peer: '', goal: formatShares(shares) }]
}

const decisions = (what: string, rate: number, goal: string): Row => ({
  what,
  ours: `${rate.toFixed(0)}/s`,
  peer: '',
  goal,
})
