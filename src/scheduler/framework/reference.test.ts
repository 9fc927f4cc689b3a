import { describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { seededRandom } from '../../base/random.ts'
import { podFacts } from '../cache/pod-facts.ts'
import {
  bindClaim,
  provisionedVolume,
  randomStorage,
  setDriversOn,
  storageOf,
  withClaims,
} from './random-storage.contract.ts'
import { RandomWorld } from './random-world.contract.ts'
import { referenceVerdicts, type Verdict } from './reference.contract.ts'
import { type World, withVolumes } from './reference-reasons.contract.ts'
import { chooseVolumes } from './reference-volumes.contract.ts'
import { NAMESPACES, SERVICES, Subject } from './subject.contract.ts'

/** One line per node, so that a difference can be read. Of two reasons against a promised node, either may be told. */
const lines = (verdicts: readonly Verdict[], promised: ReadonlySet<string | undefined>) =>
  verdicts
    .map(({ node, reason, score }) => `${node}: ${(reason && promised.has(node) ? 'refused' : reason) ?? score}`)
    .sort()

const named = (pod: Pod, { name, uid }: Pod['metadata']): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, name: name!, uid: uid! },
})
const on = (pod: Pod, nodeName: string): Pod => ({ ...pod, spec: { ...pod.spec!, nodeName } })

/** A cluster that both schedulers are told of. */
class Story {
  readonly world: RandomWorld
  readonly nodes = new Map<string, Node>()
  readonly pods = new Map<string, Pod>()
  readonly promised = new Map<string, Pod>()
  readonly storage
  readonly subject
  readonly #templates: readonly Pod[]

  constructor(seed: number) {
    this.world = new RandomWorld(seededRandom(seed))
    this.storage = randomStorage(this.world)
    this.subject = new Subject(storageOf(this.storage, this.pods))
    this.#templates = Array.from({ length: 6 }, () => withClaims(this.world, this.world.pod()))
    for (let i = 0; i < 6; i++) this.setNode(`node-${i}`)
  }

  get view(): World {
    const { storage } = this
    return {
      nodes: [...this.nodes.values()],
      pods: [...this.pods.values()],
      promised: [...this.promised.values()],
      namespaces: NAMESPACES,
      services: SERVICES,
      storage,
    }
  }

  nextPod(): Pod {
    const fresh = this.world.pod()
    return this.world.chance(0.8)
      ? named(this.world.pick(this.#templates), fresh.metadata)
      : withClaims(this.world, fresh)
  }

  setNode(name: string): void {
    const node = this.world.node(name)
    this.nodes.set(name, node)
    setDriversOn(this.world, this.storage, node)
    this.subject.cluster.setNode(node)
  }

  change(pod: Pod): void {
    this.pods.set(pod.metadata.uid!, pod)
    this.subject.cluster.updatePod(pod, pod.spec!.nodeName!)
  }

  promise(): void {
    const pod = on(this.world.pod(), this.world.pick([...this.nodes.keys()]))
    this.promised.set(pod.metadata.uid!, pod)
    this.subject.nominated.set(podFacts(pod), pod.spec!.nodeName!)
  }

  /** Something happens. */
  step(): void {
    const { world, nodes, pods, subject } = this
    const what = world.pick([...QUIET, 'delete', 'node', 'remove', 'terminate', 'relabel', 'promise', 'forget'])
    const victim = world.pick([...pods.values()])
    if (what === 'node') this.setNode(`node-${world.pick([0, 1, 2, 3, 4, 5, 6, 7, 8])}`)
    else if (what === 'remove' && nodes.size > 2) {
      const name = world.pick([...nodes.keys()])
      nodes.delete(name)
      subject.cluster.removeNode(name)
    } else if (what === 'promise' && this.promised.size < 3) this.promise()
    else if (what === 'forget' && this.promised.size > 0) {
      const uid = world.pick([...this.promised.keys()])
      this.promised.delete(uid)
      subject.nominated.delete(uid)
    } else if (what === 'delete' && victim) {
      pods.delete(victim.metadata.uid!)
      subject.cluster.removePod(victim.metadata.uid!)
    } else if (what === 'terminate' && victim) {
      this.change({ ...victim, metadata: { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
    } else if (what === 'relabel' && victim) {
      const labels = { ...victim.metadata.labels, [world.pick(['app', 'tier', 'zone'])]: world.pick(['a', 'b', 'x']) }
      this.change({ ...victim, metadata: { ...victim.metadata, labels } })
    }
  }

  place(pod: Pod, nodeName: string): void {
    const choice = chooseVolumes(withVolumes(this.view)!, pod, this.nodes.get(nodeName)!)
    if (typeof choice === 'string') throw new Error(choice)
    for (const { claim, volume } of choice)
      bindClaim(this.storage, claim, volume ?? provisionedVolume(this.world, claim))
    const bound = on(pod, nodeName)
    this.pods.set(pod.metadata.uid!, bound)
    this.subject.cluster.addPod(bound, nodeName)
  }
}

const QUIET = ['place', 'place', 'place', 'place']

/** Lives through a random story and compares after each step what both think of some pod. */
function runStory(seed: number, steps: number): void {
  const story = new Story(seed)
  const { subject } = story
  for (let step = 0; step < steps; step++) {
    story.step()
    const pod = story.nextPod()
    const expected = referenceVerdicts(story.view, pod)
    const where = `seed ${seed} step ${step}`
    const promised = new Set([...story.promised.values()].map(({ spec }) => spec?.nodeName))
    const verdicts = subject.verdicts(pod)
    expect(lines(verdicts, promised), `${where} ${JSON.stringify(pod)}`).toEqual(lines(expected, promised))
    const best = Math.max(...expected.map(({ score }) => score ?? Number.NEGATIVE_INFINITY))
    const picked = subject.pick(pod)
    if (best === Number.NEGATIVE_INFINITY) expect(picked, where).toBeUndefined()
    else expect(expected.find(({ node }) => node === picked)?.score, where).toBe(best)
    if (picked) story.place(pod, picked)
  }
}

describe('fast and literal scheduling agree', () => {
  const seeds = Array.from({ length: 120 }, (_, i) => i + 1)
  test.each(seeds)('feasible nodes, reasons, scores and choice, seed %d', (seed) => {
    runStory(seed, 25)
  })
})
