import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Node } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { isReady, nodeReady, phaseIs, type Workbench, type WorkbenchOptions, workbench } from './workbench.contract.ts'

let bench: Workbench

async function open(options?: WorkbenchOptions): Promise<Workbench> {
  bench = await workbench(options)
  return bench
}

afterEach(() => bench[Symbol.asyncDispose]())

const container = (pod: Awaited<ReturnType<Workbench['get']>>, i = 0) =>
  pod.status?.containerStatuses?.[i] ?? { name: '', ready: false, restartCount: -1, image: '', imageID: '' }

describe('the node', () => {
  it('is registered, beats, and is registered again after it was deleted', async () => {
    await open()
    const nodes = bench.client.resource<Node>(nodeKind)
    const node = await bench.until(() => nodes.get('node-1'), nodeReady)
    expect(node.status).toMatchObject({
      capacity: { cpu: '4', memory: '8Gi', pods: '110' },
      addresses: [
        { type: 'InternalIP', address: '192.0.2.10' },
        { type: 'Hostname', address: 'node-1' },
      ],
      nodeInfo: { kubeletVersion: 'v1.36.0', containerRuntimeVersion: 'simulated://1.0.0' },
    })
    const leases = bench.client
      .resource<Node & { spec: { renewTime: string } }>({
        group: 'coordination.k8s.io',
        version: 'v1',
        plural: 'leases',
        namespaced: true,
      })
      .namespace('kube-node-lease')
    const first = (await leases.get('node-1')).spec.renewTime
    await bench.until(
      () => leases.get('node-1'),
      (lease) => lease.spec.renewTime > first,
    )
    await nodes.delete('node-1')
    const again = await bench.until(
      () => nodes.get('node-1').catch(() => undefined),
      (found) => found !== undefined && found.metadata.uid !== node.metadata.uid,
    )
    expect(again?.metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'node-1' })
  })
})

it('what an administrator says the node has is given away, until he says otherwise', async () => {
  await open()
  const nodes = bench.client.resource<Node>(nodeKind)
  await bench.until(() => nodes.get('node-1'), nodeReady)
  const say = (dongles: string | null) =>
    nodes.patch('node-1', { status: { capacity: { 'example.com/dongle': dongles } } }, { subresource: 'status' })
  const offered = ({ status }: Node) => status?.allocatable?.['example.com/dongle']
  await say('4')
  const node = await bench.until(
    () => nodes.get('node-1'),
    (found) => offered(found) === '4',
  )
  expect(node.status?.allocatable).toMatchObject({ cpu: '4' })
  await say(null)
  await bench.until(
    () => nodes.get('node-1'),
    (found) => offered(found) === undefined,
  )
})

describe('a pod', () => {
  it('runs, tells what happens, and leaves nothing behind', async () => {
    await open()
    const made = await bench.create('web', {})
    const pod = await bench.untilPod('web', isReady)
    expect(pod.status).toMatchObject({
      phase: 'Running',
      hostIP: '192.0.2.10',
      podIP: '10.88.0.1',
      qosClass: 'BestEffort',
      observedGeneration: 1,
    })
    expect(container(pod)).toMatchObject({ ready: true, started: true, restartCount: 0, image: 'busybox:1' })
    expect(pod.status!.conditions!.map(({ type, status }) => `${type}=${status}`).sort()).toEqual([
      'ContainersReady=True',
      'Initialized=True',
      'PodReadyToStartContainers=True',
      'PodScheduled=True',
      'Ready=True',
    ])
    await bench.untilEvent('web', 'Started', 'Container started')
    const reasons = (await bench.events('web')).map(({ reason }) => reason)
    expect(reasons).toEqual(['Pulling', 'Pulled', 'Created', 'Started'])
    await bench.pods().delete('web')
    await bench.untilGone('web')
    await bench.untilEvent('web', 'Killing', 'Stopping container main')
    expect(await bench.runtime.listPodSandbox()).toEqual([])
    expect(await readdir(path.join(bench.rootDir, 'pods'))).toEqual([])
    expect(existsSync(path.join(bench.rootDir, 'log', 'pods', `default_web_${made.metadata.uid}`))).toBe(false)
  })

  it.each([
    ['Never', 0, 'Succeeded', 'Completed'],
    ['Never', 3, 'Failed', 'Error'],
    ['OnFailure', 0, 'Succeeded', 'Completed'],
  ])('with restartPolicy %s that exits with %i is %s', async (restartPolicy, exitCode, phase, reason) => {
    await open({ program: () => ({ exitAfter: 1000, exitCode }) })
    await bench.create('job', { restartPolicy })
    const pod = await bench.untilPod('job', phaseIs(phase))
    expect(container(pod).state?.terminated).toMatchObject({ exitCode, reason })
    expect((await bench.runtime.listPodSandbox())[0]?.state).toBe('NOTREADY')
  })

  it('that keeps failing waits longer each time', async () => {
    await open({ program: () => ({ exitAfter: 1000, exitCode: 1 }) })
    await bench.create('crash', {})
    const waiting = await bench.untilPod('crash', (pod) => container(pod).state?.waiting?.reason === 'CrashLoopBackOff')
    expect(container(waiting)).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 1 } } })
    expect(container(waiting).state?.waiting?.message).toMatch(
      /^back-off 10s restarting failed container=main pod=crash_default\(/,
    )
    expect(waiting.status?.phase).toBe('Running')
    const before = bench.clock.now()
    await bench.untilPod('crash', (pod) => container(pod).restartCount === 2)
    expect(bench.clock.now() - before).toBeGreaterThan(8000)
    await bench.untilPod('crash', (pod) => /back-off 20s/.test(container(pod).state?.waiting?.message ?? ''))
    await bench.untilEvent('crash', 'BackOff', /^Back-off restarting failed container main in pod crash_default/)
  })

  it('past its deadline has failed', async () => {
    await open()
    await bench.create('slow', { activeDeadlineSeconds: 30, terminationGracePeriodSeconds: 1 })
    await bench.untilPod('slow', isReady)
    const pod = await bench.untilPod('slow', phaseIs('Failed'))
    expect(pod.status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    })
  })

  it.each([
    [
      { containers: [{ name: 'main', image: 'a:1', resources: { requests: { cpu: '5' } } }] },
      'OutOfcpu',
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
    ],
    [
      { nodeSelector: { disk: 'ssd' } },
      'NodeAffinity',
      "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ],
  ])('that does not fit is refused: %o', async (spec, reason, message) => {
    await open()
    await bench.create('big', spec)
    const pod = await bench.untilPod('big', phaseIs('Failed'))
    expect(pod.status).toMatchObject({ reason, message })
    expect(await bench.runtime.listPodSandbox()).toEqual([])
    await bench.pods().delete('big')
    await bench.untilGone('big')
  })
})

describe('images', () => {
  it.each([
    ['missing:1', undefined, 'ErrImagePull'],
    ['missing:1', undefined, 'ImagePullBackOff'],
    ['busybox:1', 'Never', 'ErrImageNeverPull'],
    ['Not An Image', undefined, 'InvalidImageName'],
  ])('%s with policy %s: %s', async (image, imagePullPolicy, reason) => {
    await open({ images: { missing: /^missing/ } })
    await bench.create('app', { containers: [{ name: 'main', image, ...(imagePullPolicy && { imagePullPolicy }) }] })
    const pod = await bench.untilPod('app', (one) => container(one).state?.waiting?.reason === reason)
    expect(pod.status?.phase).toBe('Pending')
    await bench.untilEvent('app', 'Failed', `Error: ${reason}`)
  })

  it('use the pull secrets of the pod', async () => {
    await open({ images: { allowed: (_, auth) => auth?.username === 'joe' && auth.password === 'secret' } })
    const config = { auths: { 'registry.example.com': { auth: Buffer.from('joe:secret').toString('base64') } } }
    await bench.client
      .resource({ group: '', version: 'v1', plural: 'secrets', namespaced: true })
      .namespace('default')
      .create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'pull' },
        type: 'kubernetes.io/dockerconfigjson',
        data: { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') },
      } as never)
    await bench.create('app', {
      imagePullSecrets: [{ name: 'pull' }],
      containers: [{ name: 'main', image: 'registry.example.com/team/app:1' }],
    })
    await bench.untilPod('app', isReady)
  })
})
