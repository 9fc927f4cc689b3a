import { describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { seededRandom } from '../../base/random.ts'
import { RandomWorld } from './random-world.contract.ts'
import { referenceVerdicts, type Verdict } from './reference.contract.ts'
import { NAMESPACES, SERVICES, Subject } from './subject.contract.ts'

/** One line per node, so that a difference can be read. */
const lines = (verdicts: readonly Verdict[]) =>
  verdicts.map(({ node, reason, score }) => `${node}: ${reason ?? score}`).sort()

/** Lives through a random story and compares after each step what both think of some pods. */
function runStory(seed: number, steps: number): void {
  const world = new RandomWorld(seededRandom(seed))
  const subject = new Subject()
  const nodes = new Map<string, Node>()
  const pods = new Map<string, Pod>()
  const templates = Array.from({ length: 6 }, () => world.pod())
  const setNode = (node: Node) => {
    nodes.set(node.metadata.name!, node)
    subject.cluster.setNode(node)
  }
  const view = () => ({
    nodes: [...nodes.values()],
    pods: [...pods.values()],
    namespaces: NAMESPACES,
    services: SERVICES,
  })
  for (let i = 0; i < 6; i++) setNode(world.node(`node-${i}`))
  for (let step = 0; step < steps; step++) {
    const what = world.pick(['place', 'place', 'place', 'place', 'delete', 'node', 'remove', 'terminate', 'relabel'])
    const victim = world.pick([...pods.values()])
    if (what === 'node') setNode(world.node(`node-${world.pick([0, 1, 2, 3, 4, 5, 6, 7, 8])}`))
    else if (what === 'remove' && nodes.size > 2) {
      const name = world.pick([...nodes.keys()])
      nodes.delete(name)
      subject.cluster.removeNode(name)
    } else if (what === 'delete' && victim) {
      pods.delete(victim.metadata.uid!)
      subject.cluster.removePod(victim.metadata.uid!)
    } else if (what === 'terminate' && victim) {
      const leaving = { ...victim, metadata: { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
      pods.set(victim.metadata.uid!, leaving)
      subject.cluster.updatePod(leaving, leaving.spec!.nodeName!)
    } else if (what === 'relabel' && victim) {
      const labels = { ...victim.metadata.labels, [world.pick(['app', 'tier', 'zone'])]: world.pick(['a', 'b', 'x']) }
      const relabelled = { ...victim, metadata: { ...victim.metadata, labels } }
      pods.set(victim.metadata.uid!, relabelled)
      subject.cluster.updatePod(relabelled, relabelled.spec!.nodeName!)
    }
    const template = world.pick(templates)
    const fresh = world.pod()
    const pod = world.chance(0.8)
      ? { ...template, metadata: { ...template.metadata, name: fresh.metadata.name!, uid: fresh.metadata.uid! } }
      : fresh
    const expected = referenceVerdicts(view(), pod)
    expect(lines(subject.verdicts(pod)), `seed ${seed} step ${step} ${JSON.stringify(pod)}`).toEqual(lines(expected))
    const best = Math.max(...expected.map(({ score }) => score ?? Number.NEGATIVE_INFINITY))
    const picked = subject.pick(pod)
    if (best === Number.NEGATIVE_INFINITY) expect(picked, `seed ${seed} step ${step}`).toBeUndefined()
    else expect(expected.find(({ node }) => node === picked)?.score, `seed ${seed} step ${step}`).toBe(best)
    if (picked) {
      const bound = { ...pod, spec: { ...pod.spec!, nodeName: picked } }
      pods.set(pod.metadata.uid!, bound)
      subject.cluster.addPod(bound, picked)
    }
  }
}

describe('fast and literal scheduling agree', () => {
  const seeds = Array.from({ length: 120 }, (_, i) => i + 1)
  test.each(seeds)('feasible nodes, reasons, scores and choice, seed %d', (seed) => {
    runStory(seed, 25)
  })
})
