import { describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { seededRandom } from '../../base/random.ts'
import { Diagnosis } from '../framework/diagnosis.ts'
import { RandomWorld } from '../framework/random-world.contract.ts'
import { NAMESPACES, SERVICES, Subject } from '../framework/subject.contract.ts'
import { DisruptionBudgets } from './disruption-budgets.ts'
import { Preemption } from './preemption.ts'
import { fits, hurt, type PlainBudget, priority, referencePreemption } from './reference-preemption.contract.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

function budgetsOf(plain: readonly PlainBudget[]): DisruptionBudgets {
  const budgets = new DisruptionBudgets()
  for (const { namespace, app, allowed } of plain)
    budgets.changed(undefined, {
      metadata: { namespace, name: `${namespace}-${app}` },
      spec: { selector: { matchLabels: { app } } },
      status: { disruptionsAllowed: allowed, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    })
  return budgets
}

/** A full cluster, and pods that are more important than most of what is there. */
function runStory(seed: number): { helped: number; hopeless: number } {
  const random = seededRandom(seed)
  const world = new RandomWorld(random)
  const subject = new Subject()
  const nodes: Node[] = Array.from({ length: 4 }, (_, i) => world.node(`node-${i}`))
  for (const node of nodes) subject.cluster.setNode(node)
  const pods: Pod[] = []
  for (let i = 0; i < 30; i++) {
    const pod = world.pod()
    const nodeName = subject.pick(pod)
    if (nodeName === undefined) continue
    const startTime = new Date(START + 1000 * Math.floor(random.next() * 1e6) + i).toISOString()
    const placed = {
      ...pod,
      spec: { ...pod.spec!, nodeName, priority: world.pick([0, 5, 10, 90]) },
      status: { startTime },
    }
    pods.push(placed)
    subject.cluster.addPod(placed, nodeName)
  }
  const plain = [
    { namespace: 'n1', app: 'a', allowed: world.pick([0, 1, 2]) },
    { namespace: 'n2', app: 'b', allowed: world.pick([0, 1]) },
  ]
  const preemption = new Preemption(budgetsOf(plain), random)
  const view = { nodes, pods, namespaces: NAMESPACES, services: SERVICES }
  let helped = 0
  let hopeless = 0
  for (let i = 0; i < 12; i++) {
    const fresh = world.pod()
    const pod = { ...fresh, spec: { ...fresh.spec!, priority: world.pick([5, 10, 50, 90, 100]) } }
    if (subject.pick(pod) !== undefined) continue
    const attempt = subject.attempt(pod)
    const result = preemption.find(
      attempt,
      new Diagnosis(nodes.length, attempt.podClass.diagnosis().counts),
      () => false,
    )
    const expected = referencePreemption(view, pod, plain)
    const what = `seed ${seed} pod ${i}: ${JSON.stringify(pod.spec)}`
    if ('message' in result) {
      expect(expected, what).toEqual([])
      hopeless++
      continue
    }
    helped++
    const node = subject.cluster.nodeName(result.victims.node)
    const victims = result.victims.pods.map(({ facts }) => facts.pod)
    const literal = expected.find((one) => one.node === node)
    expect(victims.map(({ metadata }) => metadata.name).sort(), what).toEqual(
      literal?.victims.map(({ metadata }) => metadata.name).sort(),
    )
    const least = expected.map(hurt).sort((a, b) => a.map((one, k) => one - b[k]!).find((one) => one !== 0) ?? 0)[0]
    expect(hurt(literal!), what).toEqual(least)
    expect(
      victims.filter((one) => priority(one) >= priority(pod)),
      what,
    ).toEqual([])
    for (const one of victims) {
      const others = new Set(victims.filter((other) => other !== one))
      expect(fits(view, pod, node, others), `${what} would fit beside ${one.metadata.name}`).toBe(false)
    }
  }
  return { helped, hopeless }
}

describe('preemption in random clusters', () => {
  const seeds = Array.from({ length: 60 }, (_, i) => i + 1)
  const met = { helped: 0, hopeless: 0 }
  test.each(seeds)('takes the victims that the rules name, no more and none that matters more, seed %d', (seed) => {
    const { helped, hopeless } = runStory(seed)
    met.helped += helped
    met.hopeless += hopeless
  })

  test('the stories had both ends', () => {
    expect(met.helped).toBeGreaterThan(50)
    expect(met.hopeless).toBeGreaterThan(50)
  })
})
