import { builtinNode, realNode } from '../../tests/kubelet/kubelet-under-test.ts'
import { nodeMemory } from '../node/memory.ts'
import { PodRun } from '../node/pod-run.ts'
import { readinessToSlice } from '../node/readiness.ts'
import type { Row, Section } from '../report.ts'

/** From the creation of a pod to the moment a watch says that it runs, through kubelet and builtin runtime. */
export const nodeSection: Section = {
  name: 'node',
  title: 'Node: kubelet with the builtin runtime, API server and store in the same process; memory: of `sampan up`',
  async run({ quick }) {
    if (process.getuid?.() !== 0) return []
    const rows: Row[] = []
    const node = await realNode({}, builtinNode('10.244.0.2'))
    const run = new PodRun(node)
    try {
      rows.push(await run.atIntervals(quick ? 5 : 30))
      rows.push(await readinessToSlice(node, quick ? 5 : 30))
      rows.push(...(await run.atOnce(quick ? 20 : 200)))
      rows.push(await run.exec(quick ? 10 : 50))
    } finally {
      await run.stop()
      await node[Symbol.asyncDispose]()
    }
    return [...rows, ...(await nodeMemory(quick ? 20 : 100))]
  },
}
