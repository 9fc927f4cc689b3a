import { podKind } from '../api/kinds/core/pod/kind.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import { type Explanation, explainScheduling } from '../scheduler/explain.ts'
import { say } from './printing/say.ts'
import { formatRows } from './printing/table.ts'
import type { ApiAccess } from './resources/connect.ts'

/** Which nodes a pod can go to, which not and why, and how they score. */
export async function explainPod({ client, namespace }: ApiAccess, name: string, output?: string): Promise<void> {
  const pod = await client
    .resource(podKind)
    .namespace(namespace)
    .get(name.replace(/^pods?\//, ''))
  const random = seededRandom(1)
  const informers = createInformerFactory({
    transport: client.transport,
    clock: systemClock,
    random,
    log: silentLogger,
  })
  try {
    const explanation = await explainScheduling({ client, informers, clock: systemClock, random }, pod)
    if (output === 'json') say(JSON.stringify(explanation, undefined, 2))
    else for (const line of explanationLines(explanation, pod.spec?.nodeName)) say(line)
  } finally {
    await informers[Symbol.asyncDispose]()
  }
}

export function explanationLines({ refused, rejected, scored, message }: Explanation, current?: string): string[] {
  const lines: string[] = []
  if (current) lines.push(`The pod is on ${current}.`, '')
  if (refused) return [...lines, `No node is asked: ${refused.plugin}: ${refused.reasons.join(', ')}`]
  if (message) lines.push(message, '')
  if (scored.length > 0) {
    const plugins = [...new Set(scored.flatMap(({ scores }) => Object.keys(scores)))]
    const rows = scored.map(({ node, total, scores }) => [
      node,
      String(total),
      ...plugins.map((plugin) => String(scores[plugin] ?? 0)),
    ])
    lines.push('Nodes that will do, the best first:', ...formatRows([['NODE', 'TOTAL', ...plugins], ...rows]), '')
  }
  if (rejected.length > 0) {
    const rows = rejected.map(({ node, plugin, reasons }) => [node, plugin, reasons.join(', ')])
    lines.push('Nodes that will not:', ...formatRows([['NODE', 'PLUGIN', 'REASON'], ...rows]))
  }
  return lines
}
