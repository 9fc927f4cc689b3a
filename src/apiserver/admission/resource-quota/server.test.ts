import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ResourceQuotaSpec } from '../../../api/generated/core-v1.ts'
import { configMapKind } from '../../../api/kinds/core/config-map.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import { resourceQuotaKind } from '../../../api/kinds/core/resource-quota.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { type ControlPlaneContext, controllers } from '../../../controllers/all.ts'
import { type ControlPlane, startControlPlane } from '../../../testing/control-plane.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [(context) => controllers['resourcequota-controller']!(context as ControlPlaneContext)],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const quotas = () => plane.client.resource(resourceQuotaKind).namespace('default')
const pods = () => plane.client.resource(podKind).namespace('default')
const services = () => plane.client.resource(serviceKind).namespace('default')
const used = async () => (await quotas().get('q')).status?.used

async function createQuota(spec: ResourceQuotaSpec): Promise<void> {
  await quotas().create({ metadata: { name: 'q' }, spec })
  await plane.settled()
}
const createPod = (name: string, options?: { dryRun: 'All' }) =>
  pods().create({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } }, options)
const outcomes = async (attempts: readonly Promise<unknown>[]) => {
  const settled = await Promise.allSettled(attempts)
  const refused = settled.filter((one) => one.status === 'rejected').map((one) => (one.reason as Error).message)
  return { admitted: settled.length - refused.length, refused }
}

describe('quota under a real server', () => {
  it('is written with the object it counts', async () => {
    await createQuota({ hard: { pods: '2' } })
    await createPod('a')
    expect(await used()).toEqual({ pods: '1' })
  })

  it('a dry run takes nothing, and is refused where the real one would be', async () => {
    await createQuota({ hard: { pods: '1' } })
    await createPod('a', { dryRun: 'All' })
    expect(await used()).toEqual({ pods: '0' })
    await createPod('a')
    await expect(createPod('b', { dryRun: 'All' })).rejects.toMatchObject({ code: 403 })
  })

  it.each([1, 2, 3])('is exact however many come at once, round %i', async () => {
    await createQuota({ hard: { pods: '20' } })
    const { admitted, refused } = await outcomes(Array.from({ length: 100 }, (_, i) => createPod(`p${i}`)))
    expect(admitted).toBe(20)
    expect(new Set(refused.map((text) => text.replace(/"p\d+"/, 'p')))).toEqual(
      new Set(['pods p is forbidden: exceeded quota: q, requested: pods=1, used: pods=20, limited: pods=20']),
    )
    await plane.settled()
    expect(await used()).toEqual({ pods: '20' })
  })

  it('stays exact while others go and the controller counts', async () => {
    await createQuota({ hard: { pods: '10' } })
    let most = 0
    const live = new Set<string>()
    const churn = async (worker: number) => {
      for (let round = 0; round < 15; round++) {
        const name = `p${worker}-${round}`
        const isIn = await createPod(name).then(
          () => true,
          () => false,
        )
        if (!isIn) continue
        live.add(name)
        most = Math.max(most, live.size)
        await new Promise(setImmediate)
        live.delete(name)
        await pods().delete(name, { gracePeriodSeconds: 0 })
      }
    }
    await Promise.all(Array.from({ length: 30 }, (_, worker) => churn(worker)))
    await plane.settled()
    expect([most <= 10, await used()]).toEqual([true, { pods: '0' }])
  })

  it('an object that is refused for another reason gives its share back', async () => {
    await createQuota({ hard: { pods: '5' } })
    await createPod('a')
    await expect(createPod('a')).rejects.toMatchObject({ reason: 'AlreadyExists' })
    expect(await used()).toEqual({ pods: '1' })
    await createPod('b')
    expect(await used()).toEqual({ pods: '2' })
  })

  it('an update pays for what it adds', async () => {
    await createQuota({ hard: { services: '2', 'services.nodeports': '1' } })
    await services().create({ metadata: { name: 's' }, spec: { ports: [{ port: 1 }] } })
    expect(await used()).toEqual({ services: '2', 'services.nodeports': '0' })
    await services().patch('s', { spec: { type: 'NodePort' } })
    expect(await used()).toEqual({ services: '2', 'services.nodeports': '1' })
    const twoPorts = {
      spec: {
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 2 },
        ],
      },
    }
    await expect(services().patch('s', twoPorts)).rejects.toThrow(
      'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
    )
  })

  it('other namespaces and other kinds go on', async () => {
    await createQuota({ hard: { pods: '0' } })
    await expect(createPod('a')).rejects.toThrow('exceeded quota: q')
    const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await plane.client.resource(podKind).namespace('kube-system').create(pod)
    await plane.client
      .resource(configMapKind)
      .namespace('default')
      .create({ metadata: { name: 'm' } })
  })
})
