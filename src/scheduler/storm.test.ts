import { describe, expect, test } from 'vitest'
import type { Pod } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { startWorkbench, type Workbench } from './workbench.contract.ts'

const HOSTNAME = 'kubernetes.io/hostname'
const pods = (bench: Workbench) => bench.client.resource(podKind).namespace('default')

function makePod(i: number, next: () => number): Partial<NonNullable<Pod['spec']>> {
  const cpu = ['100m', '300m', '700m'][Math.floor(next() * 3)]!
  const isLonely = i % 7 === 0
  return {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: 'x',
        resources: { requests: { cpu, memory: '64Mi' } },
        ...(i % 11 === 0 && { ports: [{ containerPort: 80, hostPort: 8080 }] }),
      },
    ],
    ...(isLonely && {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: { matchLabels: { lonely: 'yes' } }, topologyKey: HOSTNAME },
          ],
        },
      },
    }),
  }
}

/** What no node may ever hold. */
function brokenRules(all: readonly Pod[]): string[] {
  const broken: string[] = []
  const byNode = groupByNode(all)
  for (const [node, on] of byNode) {
    if (!node) continue
    const cpu = on.reduce(
      (sum, { spec }) => sum + Number.parseInt(String(spec!.containers[0]!.resources!.requests!.cpu), 10),
      0,
    )
    if (cpu > 2000) broken.push(`${node} has ${cpu}m of 2000m`)
    if (on.filter(({ metadata }) => metadata.labels?.lonely).length > 1) broken.push(`${node} has two lonely pods`)
    if (on.filter(({ spec }) => spec!.containers[0]!.ports?.length).length > 1) broken.push(`${node} has a port twice`)
  }
  return broken
}

function groupByNode(all: readonly Pod[]): Map<string | undefined, Pod[]> {
  const groups = new Map<string | undefined, Pod[]>()
  for (const pod of all) groups.set(pod.spec?.nodeName, [...(groups.get(pod.spec?.nodeName) ?? []), pod])
  return groups
}

describe('under a storm of changes', () => {
  test.each([1, 2, 3])('no rule is broken and no pod forgotten, seed %d', async (seed) => {
    const random = seededRandom(seed)
    const clock = new VirtualClock()
    let isStormy = true
    const fault = (call: { subresource?: string }) =>
      isStormy && call.subresource === 'binding' && random.next() < 0.2 ? new Error('the wire is cut') : undefined
    await using bench = await startWorkbench({ clock, fault })
    for (let i = 0; i < 8; i++) await bench.node(`n${i}`, { cpu: '2' })
    for (let i = 0; i < 60; i++) {
      const labels: Record<string, string> = i % 7 === 0 ? { lonely: 'yes' } : {}
      await bench.pod(
        `p${i}`,
        makePod(i, () => random.next()),
        { labels },
      )
      const chance = random.next()
      if (chance < 0.2)
        await pods(bench)
          .delete(`p${Math.floor(random.next() * i)}`)
          .catch(() => {})
      else if (chance < 0.3) {
        const name = `n${Math.floor(random.next() * 8)}`
        await bench.client.resource(nodeKind).patch(name, { spec: { unschedulable: random.next() < 0.5 } })
      } else if (chance < 0.4) await clock.advanceAsync(500)
      expect(brokenRules((await pods(bench).list()).items)).toEqual([])
    }
    isStormy = false
    for (let i = 0; i < 8; i++) await bench.client.resource(nodeKind).patch(`n${i}`, { spec: { unschedulable: null } })
    for (let i = 0; i < 12; i++) await bench.node(`more${i}`, { cpu: '2' })
    await clock.advanceAsync(20_000)
    await bench.settled()
    const { items } = await pods(bench).list()
    expect(brokenRules(items)).toEqual([])
    expect(items.filter(({ spec }) => !spec?.nodeName).map(({ metadata }) => metadata.name)).toEqual([])
  })

  test('the same seed gives the same story', async () => {
    const story = async () => {
      const clock = new VirtualClock()
      await using bench = await startWorkbench({ clock })
      const random = seededRandom(7)
      for (let i = 0; i < 5; i++) await bench.node(`n${i}`, { cpu: '2' })
      for (let i = 0; i < 40; i++)
        await bench.pod(
          `p${i}`,
          makePod(i, () => random.next()),
        )
      await clock.advanceAsync(1000)
      await bench.settled()
      return (await pods(bench).list()).items.map(({ metadata, spec }) => `${metadata.name} ${spec?.nodeName}`)
    }
    expect(await story()).toEqual(await story())
  })
})
