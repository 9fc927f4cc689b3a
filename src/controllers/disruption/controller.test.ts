import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { disruptionController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [disruptionController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const labels = { app: 'a' }
const selector = { matchLabels: labels }
const containers = [{ name: 'c', image: 'i' }]
const budgets = () => plane.client.resource(podDisruptionBudgetKind).namespace('default')
const pods = () => plane.client.resource(podKind).namespace('default')
const sets = () => plane.client.resource(replicaSetKind).namespace('default')
const createSet = (replicas: number) =>
  sets().create({
    metadata: { name: 'rs' },
    spec: { replicas, selector, template: { metadata: { labels }, spec: { containers } } },
  })
const createBudget = (spec: object) => budgets().create({ metadata: { name: 'b' }, spec: { selector, ...spec } })
async function createPod(name: string, owner?: KubernetesObject & { kind?: string }) {
  const { name: ownerName = '', uid = '' } = owner?.metadata ?? {}
  const reference = { apiVersion: 'apps/v1', kind: owner?.kind ?? 'ReplicaSet', name: ownerName, uid, controller: true }
  const ownerReferences = owner ? [reference] : []
  await pods().create({
    metadata: { name, labels, ownerReferences },
    spec: { containers, nodeName: 'n' },
  })
}
const setCondition = (name: string, type: string, status: string) =>
  pods().patch(
    name,
    { status: { phase: 'Running', conditions: [{ type, status, lastTransitionTime: formatTime(clock.now()) }] } },
    { subresource: 'status', type: 'application/strategic-merge-patch+json' },
  )
async function status() {
  await plane.settled()
  const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } = (await budgets().get('b')).status!
  return { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed }
}
async function allowed() {
  await plane.settled()
  const { conditions, observedGeneration } = (await budgets().get('b')).status!
  expect(observedGeneration).toBe((await budgets().get('b')).metadata.generation)
  return conditions?.map(({ type, status, reason }) => [type, status, reason])
}

describe('disruptionController', () => {
  it.each([
    [{ minAvailable: 2 }, { expectedPods: 3, desiredHealthy: 2, currentHealthy: 3, disruptionsAllowed: 1 }],
    [{ minAvailable: '50%' }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 3, disruptionsAllowed: 0 }],
    [{ maxUnavailable: 3 }, { expectedPods: 5, desiredHealthy: 2, currentHealthy: 3, disruptionsAllowed: 1 }],
    [{ maxUnavailable: '30%' }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 3, disruptionsAllowed: 0 }],
    [{ maxUnavailable: 9 }, { expectedPods: 5, desiredHealthy: 0, currentHealthy: 3, disruptionsAllowed: 3 }],
  ])('three ready pods of five wanted: %j', async (spec, expected) => {
    const owner = await createSet(5)
    for (const name of ['a', 'b', 'c']) {
      await createPod(name, owner)
      await setCondition(name, 'Ready', 'True')
    }
    await createBudget(spec)
    expect(await status()).toEqual(expected)
  })

  it('follows pods that come, fail, end and go', async () => {
    await createBudget({ minAvailable: 1 })
    expect(await status()).toEqual({ expectedPods: 0, desiredHealthy: 1, currentHealthy: 0, disruptionsAllowed: 0 })
    expect(plane.events).toContain('NoPods: No matching pods found')
    expect(await allowed()).toEqual([['DisruptionAllowed', 'False', 'InsufficientPods']])
    for (const name of ['a', 'b']) {
      await createPod(name)
      await setCondition(name, 'Ready', 'True')
    }
    expect(await status()).toMatchObject({ expectedPods: 2, currentHealthy: 2, disruptionsAllowed: 1 })
    expect(await allowed()).toEqual([['DisruptionAllowed', 'True', 'SufficientPods']])
    await setCondition('b', 'Ready', 'False')
    expect(await status()).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 })
    await setCondition('b', 'Ready', 'True')
    await pods().delete('a')
    expect(await status()).toMatchObject({ expectedPods: 2, currentHealthy: 1, disruptionsAllowed: 0 })
    await pods().delete('a', { gracePeriodSeconds: 0 })
    expect(await status()).toMatchObject({ expectedPods: 1, currentHealthy: 1 })
    await pods().patch('b', { metadata: { labels: { app: 'other' } } })
    expect(await status()).toMatchObject({ expectedPods: 0, currentHealthy: 0 })
  })

  it('counts anew for a budget of the same name, and when it selects otherwise', async () => {
    await createPod('a')
    await setCondition('a', 'Ready', 'True')
    await createBudget({ minAvailable: 1 })
    expect(await status()).toMatchObject({ expectedPods: 1, currentHealthy: 1 })
    await budgets().delete('b')
    await createPod('b')
    await createBudget({ minAvailable: 1 })
    expect(await status()).toMatchObject({ expectedPods: 2, currentHealthy: 1 })
    await budgets().patch('b', { spec: { selector: { matchLabels: { app: 'other' } } } })
    expect(await status()).toMatchObject({ expectedPods: 0, currentHealthy: 0 })
  })

  it('follows the scale of the controller', async () => {
    const owner = await createSet(2)
    await createPod('a', owner)
    await createBudget({ maxUnavailable: 1 })
    expect(await status()).toMatchObject({ expectedPods: 2, desiredHealthy: 1 })
    await sets().patch('rs', { spec: { replicas: 4 } })
    expect(await status()).toMatchObject({ expectedPods: 4, desiredHealthy: 3 })
  })

  it('allows nothing when the scale is unknown, and says why', async () => {
    await createPod('a', { kind: 'Job', metadata: { name: 'j', uid: 'u' } })
    await pods().patch('a', {
      metadata: {
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true }],
      },
    })
    await createBudget({ maxUnavailable: 1 })
    await plane.settled()
    expect(await budgets().get('b')).toMatchObject({
      status: {
        disruptionsAllowed: 0,
        conditions: [
          {
            status: 'False',
            reason: 'SyncFailed',
            message: 'jobs.batch does not implement the scale subresource',
          },
        ],
      },
    })
    expect(plane.events).toContain(
      'CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: jobs.batch does not implement the scale subresource',
    )
  })

  it('tells of pods without a controller', async () => {
    await createPod('a')
    await createBudget({ maxUnavailable: 1 })
    expect(await status()).toMatchObject({ expectedPods: 0, disruptionsAllowed: 0 })
    expect(plane.events.some((event) => event.startsWith('UnmanagedPods: Pods selected by this'))).toBe(true)
  })

  it('evictions draw on it, and one that did not happen is given back after two minutes', async () => {
    for (const name of ['a', 'b']) {
      await createPod(name)
      await setCondition(name, 'Ready', 'True')
    }
    await createBudget({ minAvailable: 1 })
    expect(await status()).toMatchObject({ disruptionsAllowed: 1 })
    const disruptedPods = { a: formatTime(clock.now()) }
    await budgets().patch('b', { status: { disruptionsAllowed: 0, disruptedPods } }, { subresource: 'status' })
    expect(await status()).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 })
    await clock.advanceAsync(119_000)
    expect(await status()).toMatchObject({ disruptionsAllowed: 0 })
    await clock.advanceAsync(2_000)
    expect(await status()).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
    expect((await budgets().get('b')).status?.disruptedPods).toBeUndefined()
    expect(plane.events).toContain("NotDeleted: Pod was expected by PDB default/b to be deleted but it wasn't")
  })

  it('a pod evicted through the API is gone from the count', async () => {
    for (const name of ['a', 'b']) {
      await createPod(name)
      await setCondition(name, 'Ready', 'True')
    }
    await createBudget({ minAvailable: 1 })
    await plane.settled()
    await pods().subresource('create', 'a', 'eviction', { metadata: { name: 'a' } })
    expect(await status()).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 })
    await expect(pods().subresource('create', 'b', 'eviction', { metadata: { name: 'b' } })).rejects.toMatchObject({
      code: 429,
    })
  })

  it('clears the mark of a disruption that did not come', async () => {
    await createPod('a')
    await setCondition('a', 'DisruptionTarget', 'True')
    const mark = async () => {
      await plane.settled()
      return (await pods().get('a')).status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.status
    }
    expect(await mark()).toBe('True')
    await clock.advanceAsync(121_000)
    expect(await mark()).toBe('False')
  })
})
