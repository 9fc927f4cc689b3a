import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { sampan } from '../children.ts'
import { median, pause, residentBytes } from '../measure.ts'
import { mb, ms, type Section } from '../report.ts'

const LIBRARY = path.resolve(import.meta.dirname, '..', '..', 'dist', 'cluster', 'index.js')

/** How long `node -e 0` takes: what no program in Node can be below. */
function bareNode(): number {
  const started = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - started
}

/** startCluster() in a fresh process, without the time to load the module. */
function inProcess(): number {
  const code = `const { startCluster } = await import(${JSON.stringify(pathToFileURL(LIBRARY).href)});
    const started = performance.now();
    const cluster = await startCluster();
    console.log(performance.now() - started);
    await cluster[Symbol.asyncDispose]();`
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }))
}

async function timedUp(folder: string): Promise<{ took: number; memory: number }> {
  const started = performance.now()
  const server = await sampan({ folder })
  const took = performance.now() - started
  await pause(2_000)
  const memory = residentBytes(server.pid)
  await server.cluster.stop()
  return { took, memory }
}

export const startSection: Section = {
  name: 'start',
  title: 'Start: sampan up --detach until the API server is ready',
  async run({ quick }) {
    const rounds = quick ? 2 : 5
    const cold: number[] = []
    const restart: number[] = []
    const memory: number[] = []
    const bare: number[] = []
    for (let i = 0; i < rounds; i++) {
      const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-'))
      try {
        bare.push(bareNode())
        cold.push((await timedUp(folder)).took)
        const again = await timedUp(folder)
        restart.push(again.took)
        memory.push(again.memory)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
    const node = median(bare)
    const peer = `${ms(node)} node -e 0`
    const process_ = median(Array.from({ length: rounds }, inProcess))
    return [
      { what: 'cold', ours: ms(median(cold)), peer, ratio: median(cold) / node, goal: 'under 1000 ms' },
      { what: 'restart', ours: ms(median(restart)), peer, ratio: median(restart) / node, goal: 'under 500 ms' },
      { what: 'in a process', ours: ms(process_), peer, ratio: process_ / node, goal: 'under 150 ms' },
      { what: 'memory at idle', ours: mb(median(memory)), peer: '', goal: 'under 120 MB' },
    ]
  },
}
