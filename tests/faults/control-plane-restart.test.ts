import { describe, expect, test } from 'vitest'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { seededRandom } from '../../src/base/random.ts'
import { applyManifest } from '../../src/testing/apply.ts'
import { difference, endState } from './end-state.ts'
import { SCENARIO } from './restart-scenario.ts'
import { RestartingCluster } from './restarting-cluster.ts'

/** The control plane dies at random writes while much is going on. Whatever happens, the end is the same. */

const SEEDS = 100
const SEEDS_PER_TEST = 10
/** About so many writes an undisturbed run makes. */
const WRITES = 300
const STEP = 7_000
const TO_THE_END = 180_000

async function run(seed: number, lives: readonly number[]): Promise<{ state: string[]; restarts: number }> {
  await using cluster = await RestartingCluster.start(seed, lives)
  for (const step of SCENARIO) {
    for (const manifest of step.apply ?? []) await applyManifest(cluster.client, manifest, 'default')
    for (const { type, name, propagationPolicy } of step.delete ?? []) {
      const resource = cluster.client.resource(type)
      await (type.namespaced ? resource.namespace('default') : resource).delete(name, { propagationPolicy })
    }
    await cluster.advance(STEP)
  }
  await cluster.advance(TO_THE_END)
  await expectUniqueAddresses(cluster)
  return { state: await endState(cluster.client), restarts: cluster.restarts }
}

async function expectUniqueAddresses({ client }: RestartingCluster): Promise<void> {
  const { items } = await client.resource(podKind).list()
  const addresses = items.filter(({ status }) => status?.phase === 'Running').map(({ status }) => status?.podIP)
  expect(addresses).not.toContain(undefined)
  expect(new Set(addresses).size).toBe(addresses.length)
}

/** One to four deaths, at any write. */
function livesOf(seed: number): number[] {
  const random = seededRandom(seed)
  const deaths = 1 + Math.floor(random.next() * 4)
  return Array.from({ length: deaths }, () => 1 + Math.floor((random.next() * WRITES * 1.5) / deaths))
}

describe('the control plane restarts at random moments', () => {
  const undisturbed = run(0, []).then(({ state }) => state)

  test('an undisturbed run comes to what was asked for', async () => {
    const state = await undisturbed
    const count = (start: string) => state.filter((line) => line.startsWith(start)).length
    expect(count('Pod default/web-')).toBe(2)
    expect(count('Pod default/db-')).toBe(2)
    expect(count('PersistentVolumeClaim default/data-db-')).toBe(3)
    expect(count('Pod default/left-')).toBe(2)
    expect(count('Deployment default/left')).toBe(0)
    expect(count('Namespace /gone')).toBe(0)
    expect(count('Pod default/agent-')).toBe(2)
    expect(state.find((line) => line.startsWith('Job default/parts'))).toContain('"completedIndexes":"0-2"')
    expect(state.filter((line) => line.includes('foreground'))).toEqual([])
  })

  test.each(Array.from({ length: SEEDS / SEEDS_PER_TEST }, (_, block) => 1 + block * SEEDS_PER_TEST))(
    `seeds from %i`,
    async (first) => {
      let restarts = 0
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        const ran = await run(seed, livesOf(seed))
        restarts += ran.restarts
        const found = difference(ran.state, await undisturbed)
        expect(found, `seed ${seed}, lives ${livesOf(seed)}`).toEqual({ missing: [], extra: [] })
      }
      expect(restarts).toBeGreaterThan(SEEDS_PER_TEST / 2)
    },
  )
})
