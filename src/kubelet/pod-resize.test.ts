import { afterEach, expect, test } from 'vitest'
import type { Container, Pod, ResourceRequirements } from '../api/generated/core-v1.ts'
import { isReady, type Workbench, type WorkbenchOptions, workbench } from './workbench.contract.ts'

const MEBIBYTE = 1 << 20
let bench: Workbench
afterEach(() => bench[Symbol.asyncDispose]())

const both = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
})
const container = (resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  name: 'main',
  image: 'busybox:1',
  resources,
  ...more,
})

async function running(containers: Container[], options?: WorkbenchOptions): Promise<Pod> {
  bench = await workbench(options)
  await bench.create('app', { containers })
  return bench.untilPod('app', isReady)
}

const resize = (...containers: { name: string; resources: ResourceRequirements }[]) =>
  bench
    .pods()
    .patch('app', { spec: { containers } }, { subresource: 'resize', type: 'application/strategic-merge-patch+json' })
const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type)
const statusOf = ({ status }: Pod, name = 'main') => status!.containerStatuses!.find((one) => one.name === name)!
const idOf = (pod: Pod, name = 'main') => statusOf(pod, name).containerID!.split('//')[1]!
const hasResources = (resources: ResourceRequirements) => (pod: Pod) =>
  statusOf(pod).resources?.limits?.cpu === resources.limits?.cpu &&
  pod.status?.observedGeneration === pod.metadata.generation
const reasons = async () => (await bench.events('app')).map(({ reason }) => reason).filter((one) => /^Resize/.test(one))

test('a running container gets other resources, and goes on', async () => {
  const before = await running([container(both('100m', '64Mi'))])
  await resize({ name: 'main', resources: both('200m', '128Mi') })
  const pod = await bench.untilPod('app', hasResources(both('200m', '128Mi')))
  expect(statusOf(pod)).toMatchObject({
    restartCount: 0,
    containerID: statusOf(before).containerID,
    resources: both('200m', '128Mi'),
    allocatedResources: { cpu: '200m', memory: '128Mi' },
  })
  expect(bench.runtime.resourcesOf(idOf(pod))).toMatchObject({
    cpuShares: 204,
    cpuQuota: 20_000,
    memoryLimitBytes: 128 * MEBIBYTE,
  })
  expect(conditionOf(pod, 'PodResizeInProgress')).toBeUndefined()
  await bench.untilEvent('app', 'ResizeCompleted')
  expect(await reasons()).toEqual(['ResizeStarted', 'ResizeCompleted'])
})

test('a container that says so is started again, its neighbours are not', async () => {
  const restarting = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] }
  const before = await running([
    container(both('100m', '64Mi'), restarting),
    container(both('100m', '64Mi'), { ...restarting, name: 'other' }),
  ])
  await resize({ name: 'main', resources: both('200m', '128Mi') }, { name: 'other', resources: both('200m', '64Mi') })
  const pod = await bench.untilPod('app', (one) => statusOf(one).restartCount === 1 && isReady(one))
  expect(statusOf(pod)).toMatchObject({ resources: both('200m', '128Mi'), restartCount: 1 })
  expect(bench.runtime.configOf(idOf(pod)).resources.memoryLimitBytes).toBe(128 * MEBIBYTE)
  expect(statusOf(pod, 'other')).toMatchObject({ restartCount: 0, containerID: statusOf(before, 'other').containerID })
  expect(bench.runtime.resourcesOf(idOf(pod, 'other')).cpuShares).toBe(204)
  await bench.untilEvent('app', 'Killing', /resize requires restart/)
})

test('what the node never had is infeasible; what it could have is allocated', async () => {
  await running([container(both('1', '64Mi'))])
  await resize({ name: 'main', resources: both('100', '64Mi') })
  const refused = await bench.untilPod('app', (pod) => conditionOf(pod, 'PodResizePending') !== undefined)
  expect(conditionOf(refused, 'PodResizePending')).toMatchObject({
    status: 'True',
    reason: 'Infeasible',
    message: "Node didn't have enough capacity: cpu, requested: 100000, capacity: 4000",
    observedGeneration: 2,
  })
  expect(statusOf(refused)).toMatchObject({ resources: both('1', '64Mi'), allocatedResources: { cpu: '1' } })
  await resize({ name: 'main', resources: both('2', '64Mi') })
  const pod = await bench.untilPod('app', hasResources(both('2', '64Mi')))
  expect(conditionOf(pod, 'PodResizePending')).toBeUndefined()
})

test('what others have is waited for', async () => {
  await running([container(both('1', '64Mi'))])
  await bench.create('neighbour', { containers: [container(both('2', '64Mi'))], terminationGracePeriodSeconds: 1 })
  await bench.untilPod('neighbour', isReady)
  await resize({ name: 'main', resources: both('3', '64Mi') })
  const waiting = await bench.untilPod('app', (pod) => conditionOf(pod, 'PodResizePending') !== undefined)
  expect(conditionOf(waiting, 'PodResizePending')).toMatchObject({
    reason: 'Deferred',
    message: "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000",
  })
  await bench.pods().delete('neighbour')
  const pod = await bench.untilPod('app', hasResources(both('3', '64Mi')))
  expect(conditionOf(pod, 'PodResizePending')).toBeUndefined()
  expect(await reasons()).toEqual(['ResizeDeferred', 'ResizeStarted', 'ResizeCompleted'])
})

test('a kubelet that was not there finds what was asked for', async () => {
  const before = await running([container(both('100m', '64Mi'))])
  await bench.stopKubelet()
  await resize({ name: 'main', resources: both('300m', '64Mi') })
  await bench.startKubelet()
  const pod = await bench.untilPod('app', hasResources(both('300m', '64Mi')))
  expect(statusOf(pod).containerID).toBe(statusOf(before).containerID)
  expect(bench.runtime.resourcesOf(idOf(pod)).cpuQuota).toBe(30_000)
})

test('a runtime that refuses is asked again, and the pod says why', async () => {
  const before = await running([container(both('100m', '64Mi'))])
  const { updateContainerResources: update } = bench.runtime
  let isBroken = true
  bench.runtime.updateContainerResources = async (id, resources) => {
    if (isBroken) throw new Error('no such group')
    return update.call(bench.runtime, id, resources)
  }
  await resize({ name: 'main', resources: both('300m', '64Mi') })
  const failed = await bench.untilPod('app', (pod) => conditionOf(pod, 'PodResizeInProgress')?.reason === 'Error')
  expect(conditionOf(failed, 'PodResizeInProgress')).toMatchObject({ status: 'True', message: 'no such group' })
  expect(statusOf(failed)).toMatchObject({ resources: both('100m', '64Mi'), allocatedResources: { cpu: '300m' } })
  isBroken = false
  const pod = await bench.untilPod('app', hasResources(both('300m', '64Mi')))
  expect(conditionOf(pod, 'PodResizeInProgress')).toBeUndefined()
  expect(statusOf(pod).containerID).toBe(statusOf(before).containerID)
})
