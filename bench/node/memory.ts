import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { eventually, Machine } from '../../tests/tools/machine.ts'
import { cpuMicroseconds, pause, residentBytes } from '../measure.ts'
import { mb, type Row } from '../report.ts'

const AGENT = '/memfd:sampan-agent'
/** What is not needed any more after the start may have gone by then. */
const CALM_MS = 5000

/** The process of a node of `sampan up` (kubelet, proxy and DNS), and what each pod costs besides its own processes. */
export async function nodeMemory(pods: number): Promise<Row[]> {
  await using machine = new Machine()
  await machine.up()
  const isUp = ['wait', '--for=condition=Ready', 'node/node-1', '--timeout=60s']
  await eventually(
    () => machine.kubectl(...isUp),
    () => true,
  )
  const { pid } = JSON.parse(readFileSync(`${machine.dataDir}/nodes/node-1/node.json`, 'utf8')) as { pid: number }
  await pause(CALM_MS)
  const empty = residentBytes(pid)
  const before = cpuMicroseconds(pid)
  const args = ['create', 'deployment', 'calm', '--image=sampan.local/host', `--replicas=${pods}`]
  await machine.kubectl(...args, '--', 'sleep', '100000')
  const ready = ['get', 'deployment', 'calm', '-o', 'jsonpath={.status.readyReplicas}']
  await eventually(
    () => machine.kubectl(...ready),
    (count) => Number(count) === pods,
    120,
  )
  const cpu = (cpuMicroseconds(pid) - before) / 1000 / pods
  await pause(CALM_MS)
  const full = residentBytes(pid)
  const shims = shimsOf(machine.dataDir).reduce((sum, shim) => sum + residentBytes(shim), 0)
  const each = (full - empty + shims) / pods
  return [
    {
      what: `node process with ${pods} pods, resident`,
      ours: mb(full),
      peer: `${mb(empty)} empty`,
      goal: '100: < 150 MB',
    },
    {
      what: 'resident for each pod besides its own processes',
      ours: `${(each / 1e6).toFixed(2)} MB`,
      peer: `shim ${(shims / pods / 1e3).toFixed(0)} kB`,
      goal: '< 1 MB',
    },
    { what: 'CPU of the node process for each', ours: `${cpu.toFixed(0)} ms`, peer: '', goal: '' },
  ]
}

/** Agents that hold a file of this cluster. */
function shimsOf(folder: string): number[] {
  const isShim = (pid: string) => {
    try {
      if (!readlinkSync(`/proc/${pid}/exe`).startsWith(AGENT)) return false
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith(folder))
    } catch {
      return false
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isShim(name))
    .map(Number)
}
