import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { resourceQuotaKind } from '../../api/kinds/core/resource-quota.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { resourceQuotaController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [resourceQuotaController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const quotas = () => plane.client.resource(resourceQuotaKind).namespace('default')
const pods = () => plane.client.resource(podKind).namespace('default')
const container = { name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }
const createQuota = (hard: Record<string, string>, spec: object = {}) =>
  quotas().create({ metadata: { name: 'q' }, spec: { hard, ...spec } })
const createPod = (name: string, spec: object = {}) =>
  pods().create({ metadata: { name }, spec: { containers: [container], ...spec } })
const used = async () => {
  await plane.settled()
  return (await quotas().get('q')).status?.used
}

describe('resourceQuotaController', () => {
  it('counts what is there, what comes and what goes', async () => {
    await createPod('a')
    await createQuota({ pods: '10', 'requests.cpu': '2', configmaps: '5' })
    expect(await used()).toEqual({ pods: '1', 'requests.cpu': '100m', configmaps: '0' })
    expect((await quotas().get('q')).status?.hard).toEqual({ pods: '10', 'requests.cpu': '2', configmaps: '5' })
    await createPod('b')
    await plane.client
      .resource(configMapKind)
      .namespace('default')
      .create({ metadata: { name: 'm' } })
    await plane.client
      .resource(configMapKind)
      .namespace('kube-system')
      .create({ metadata: { name: 'm' } })
    expect(await used()).toEqual({ pods: '2', 'requests.cpu': '200m', configmaps: '1' })
    await pods().delete('a', { gracePeriodSeconds: 0 })
    expect(await used()).toEqual({ pods: '1', 'requests.cpu': '100m', configmaps: '1' })
  })

  it('a finished pod uses nothing any more, but is still counted as an object', async () => {
    await createQuota({ pods: '10', 'count/pods': '10' })
    await createPod('a')
    expect(await used()).toEqual({ pods: '1', 'count/pods': '1' })
    await pods().patch('a', { status: { phase: 'Succeeded' } }, { subresource: 'status' })
    expect(await used()).toEqual({ pods: '0', 'count/pods': '1' })
  })

  it('a pod that should have ended long ago uses nothing any more', async () => {
    await createQuota({ pods: '10', 'count/pods': '10' })
    await createPod('stuck', { nodeName: 'n', terminationGracePeriodSeconds: 30 })
    await createPod('fine', { nodeName: 'n' })
    await pods().delete('stuck')
    await plane.settled()
    await clock.advanceAsync(59_000)
    expect(await used()).toEqual({ pods: '2', 'count/pods': '2' })
    await clock.advanceAsync(2_000)
    expect(await used()).toEqual({ pods: '1', 'count/pods': '2' })
    await pods().delete('stuck', { gracePeriodSeconds: 0 })
    expect(await used()).toEqual({ pods: '1', 'count/pods': '1' })
  })

  it('is right after any number of changes', async () => {
    await createQuota({ pods: '100', 'requests.cpu': '50', 'count/pods': '100' })
    await Promise.all(Array.from({ length: 50 }, (_, i) => createPod(`p${i}`)))
    await plane.settled()
    await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        i % 2 === 0
          ? pods().delete(`p${i}`, { gracePeriodSeconds: 0 })
          : pods().patch(`p${i}`, { status: { phase: 'Failed' } }, { subresource: 'status' }),
      ),
    )
    expect(await used()).toEqual({ pods: '20', 'requests.cpu': '2', 'count/pods': '35' })
  })

  it('counts objects of any kind', async () => {
    await createQuota({ 'count/deployments.apps': '3', 'count/widgets.example.com': '1' })
    const labels = { app: 'a' }
    const spec = {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    }
    await plane.client
      .resource(deploymentKind)
      .namespace('default')
      .create({ metadata: { name: 'd' }, spec })
    expect(await used()).toEqual({ 'count/deployments.apps': '1' })
  })

  it('counts only what falls under its scopes', async () => {
    await createQuota({ pods: '10' }, { scopes: ['Terminating'] })
    await createPod('a')
    await createPod('b', { activeDeadlineSeconds: 60 })
    expect(await used()).toEqual({ pods: '1' })
  })

  it('follows a change of the quota', async () => {
    await createPod('a')
    await createQuota({ pods: '10' })
    expect(await used()).toEqual({ pods: '1' })
    await quotas().patch('q', { spec: { hard: { pods: null, 'requests.cpu': '1' } } })
    expect(await used()).toEqual({ 'requests.cpu': '100m' })
  })
})
