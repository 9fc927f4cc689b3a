import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Container, ContainerStatus, Pod } from '../api/generated/core-v1.ts'
import { isReady, phaseIs, type Workbench, type WorkbenchOptions, workbench } from './workbench.contract.ts'

let bench: Workbench
let server: Server | undefined

async function open(options?: WorkbenchOptions): Promise<Workbench> {
  bench = await workbench(options)
  return bench
}

afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
  server = undefined
})

const NONE: ContainerStatus = { name: '', ready: false, restartCount: -1, image: '', imageID: '' }
const statusOf = ({ status }: Pod, name: string): ContainerStatus =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name) ??
  NONE
const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type)
const named = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'busybox:1', ...more })

/** The order in which the runtime saw containers start and stop. */
function timeline(): string[] {
  const lines: string[] = []
  const stop = new AbortController()
  void (async () => {
    for await (const { type, containerId, sandboxId } of bench.runtime.events(stop.signal)) {
      if (containerId === sandboxId || (type !== 'STARTED' && type !== 'STOPPED')) continue
      lines.push(`${type === 'STARTED' ? '+' : '-'}${bench.runtime.configOf(containerId).name}`)
    }
  })()
  return lines
}

describe('init containers', () => {
  it('run one after the other, then the others', async () => {
    await open({ program: ({ name }) => (name.startsWith('init') ? { exitAfter: 1000 } : {}) })
    const lines = timeline()
    await bench.create('app', { initContainers: [named('init-1'), named('init-2')], containers: [named('main')] })
    const starting = await bench.untilPod('app', (pod) => statusOf(pod, 'init-1').state?.running !== undefined)
    expect(starting.status?.phase).toBe('Pending')
    expect(statusOf(starting, 'main').state?.waiting?.reason).toBe('PodInitializing')
    expect(conditionOf(starting, 'Initialized')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [init-1 init-2]',
    })
    const pod = await bench.untilPod('app', isReady)
    expect(statusOf(pod, 'init-2')).toMatchObject({ ready: true, state: { terminated: { reason: 'Completed' } } })
    expect(lines).toEqual(['+init-1', '-init-1', '+init-2', '-init-2', '+main'])
  })

  it('that fail end a pod that is not restarted', async () => {
    await open({ program: () => ({ exitAfter: 100, exitCode: 1 }) })
    await bench.create('app', { restartPolicy: 'Never', initContainers: [named('init')], containers: [named('main')] })
    const pod = await bench.untilPod('app', phaseIs('Failed'))
    expect(statusOf(pod, 'main').state?.waiting?.reason).toBe('PodInitializing')
  })

  it('that fail are started again otherwise', async () => {
    await open({ program: ({ attempt }) => ({ exitAfter: 100, exitCode: attempt < 2 ? 1 : 0 }) })
    await bench.create('app', {
      restartPolicy: 'OnFailure',
      initContainers: [named('init')],
      containers: [named('main')],
    })
    await bench.untilPod('app', (pod) => statusOf(pod, 'init').state?.waiting?.reason === 'CrashLoopBackOff')
    const pod = await bench.untilPod('app', (one) => statusOf(one, 'init').ready)
    expect(statusOf(pod, 'init').restartCount).toBe(2)
  })
})

describe('sidecars', () => {
  const sidecar = (name: string) => named(name, { restartPolicy: 'Always' })

  it('start before, are started again, and stop after the others in reverse', async () => {
    await open({ program: ({ name }) => (name === 'main' ? { exitAfter: 20_000 } : {}) })
    const lines = timeline()
    await bench.create('app', {
      restartPolicy: 'Never',
      initContainers: [sidecar('first'), sidecar('second')],
      containers: [named('main')],
    })
    const pod = await bench.untilPod('app', isReady)
    bench.runtime.exit(statusOf(pod, 'first').containerID!.split('//')[1]!, 1)
    await bench.untilPod('app', (one) => statusOf(one, 'first').restartCount === 1)
    const ended = await bench.untilPod('app', phaseIs('Succeeded'))
    expect(statusOf(ended, 'main').state?.terminated?.exitCode).toBe(0)
    expect(lines).toEqual(['+first', '+second', '+main', '-first', '+first', '-main', '-second', '-first'])
  })
})

describe('another image', () => {
  it('restarts a container once, though it is edited twice', async () => {
    await open()
    await bench.create('app', { containers: [named('main')] })
    await bench.untilPod('app', isReady)
    const lines = timeline()
    const edit = (image: string) => bench.pods().patch('app', { spec: { containers: [{ name: 'main', image }] } })
    await edit('busybox:2')
    const edited = await edit('busybox:3')
    expect(statusOf(edited, 'main').ready).toBe(true)
    const pod = await bench.untilPod('app', (one) => isReady(one) && statusOf(one, 'main').restartCount === 1)
    expect(statusOf(pod, 'main').image).toBe('busybox:3')
    expect(lines).toEqual(['-main', '+main'])
  })
})

describe('termination', () => {
  it('waits for the grace period, and kills then', async () => {
    await open({ program: () => ({ stopAfter: Number.POSITIVE_INFINITY }) })
    await bench.create('app', { terminationGracePeriodSeconds: 600 })
    await bench.untilPod('app', isReady)
    const before = bench.clock.now()
    await bench.pods().delete('app')
    await bench.untilGone('app', 2_000_000, 5000)
    const took = bench.clock.now() - before
    expect(took).toBeGreaterThanOrEqual(599_000)
    expect(took).toBeLessThan(900_000)
  })

  it('is shortened by a second deletion', async () => {
    await open({ program: () => ({ stopAfter: Number.POSITIVE_INFINITY }) })
    await bench.create('app', { terminationGracePeriodSeconds: 6000 })
    await bench.untilPod('app', isReady)
    await bench.pods().delete('app')
    await bench.untilEvent('app', 'Killing')
    const before = bench.clock.now()
    await bench.pods().delete('app', { gracePeriodSeconds: 5 })
    await bench.untilGone('app')
    expect(bench.clock.now() - before).toBeLessThan(600_000)
  })

  it('counts the preStop hook into the grace period', async () => {
    const commands: string[] = []
    await open({
      exec: (_, command) => {
        commands.push(command.join(' '))
        return { takes: 480_000 }
      },
      program: () => ({ stopAfter: Number.POSITIVE_INFINITY }),
    })
    const lifecycle = { preStop: { exec: { command: ['/bye'] } } }
    await bench.create('app', { terminationGracePeriodSeconds: 600, containers: [named('main', { lifecycle })] })
    await bench.untilPod('app', isReady)
    const before = bench.clock.now()
    await bench.pods().delete('app')
    await bench.untilGone('app', 2_000_000, 5000)
    expect(commands).toEqual(['/bye'])
    expect(bench.clock.now() - before).toBeLessThan(1_000_000)
  })
})

describe('postStart', () => {
  it('that fails kills its container', async () => {
    await open({ exec: () => ({ exitCode: 7 }) })
    const lifecycle = { postStart: { exec: { command: ['/hello'] } } }
    await bench.create('app', { containers: [named('main', { lifecycle })], terminationGracePeriodSeconds: 1 })
    await bench.untilPod('app', (pod) => statusOf(pod, 'main').restartCount >= 1)
    await bench.untilEvent('app', 'FailedPostStartHook', 'PostStartHook failed')
    await bench.untilEvent('app', 'Killing', 'FailedPostStartHook')
  })
})

describe('probes', () => {
  it('of liveness restart the container', async () => {
    let healthy = true
    await open({ exec: () => ({ exitCode: healthy ? 0 : 1, stdout: 'broken' }) })
    const livenessProbe = { exec: { command: ['/check'] }, periodSeconds: 5, failureThreshold: 2 }
    await bench.create('app', { containers: [named('main', { livenessProbe })], terminationGracePeriodSeconds: 1 })
    await bench.untilPod('app', isReady)
    healthy = false
    await bench.untilEvent('app', 'Unhealthy', 'Liveness probe failed: broken')
    await bench.untilEvent('app', 'Killing', 'Container main failed liveness probe, will be restarted')
    healthy = true
    await bench.untilPod('app', (pod) => statusOf(pod, 'main').restartCount === 1 && statusOf(pod, 'main').ready)
  })

  it('of readiness take the pod out, over HTTP', async () => {
    let code = 503
    const asked: (string | undefined)[] = []
    server = createServer((request, response) => {
      asked.push(request.headers['user-agent'])
      response.writeHead(code).end()
    })
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await open()
    const readinessProbe = {
      httpGet: { host: '127.0.0.1', port, path: '/ready' },
      periodSeconds: 1,
      failureThreshold: 1,
    }
    await bench.create('app', { containers: [named('main', { readinessProbe })] })
    await bench.untilEvent('app', 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 503')
    const unready = await bench.get('app')
    expect(conditionOf(unready, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [main]',
    })
    code = 200
    await bench.untilPod('app', isReady)
    code = 500
    await bench.untilPod('app', (pod) => !isReady(pod))
    expect(asked[0]).toBe('kube-probe/1.36')
    expect(statusOf(await bench.get('app'), 'main').restartCount).toBe(0)
  })

  it('of startup hold the others back', async () => {
    let started = false
    const asked: string[] = []
    await open({
      exec: (_, [command = '']) => {
        asked.push(command)
        return { exitCode: command === '/started' && !started ? 1 : 0 }
      },
    })
    const probe = (command: string, failureThreshold: number) => ({
      exec: { command: [command] },
      periodSeconds: 1,
      failureThreshold,
    })
    await bench.create('app', {
      containers: [named('main', { startupProbe: probe('/started', 100), readinessProbe: probe('/ready', 1) })],
    })
    await bench.until(
      async () => asked.length,
      (count) => count > 3,
    )
    expect(new Set(asked)).toEqual(new Set(['/started']))
    expect(statusOf(await bench.get('app'), 'main').started).toBe(false)
    started = true
    await bench.untilPod('app', isReady)
  })
})

describe('a kubelet that starts anew', () => {
  it('goes on with what runs', async () => {
    await open()
    await bench.create('app', {})
    const before = await bench.untilPod('app', isReady)
    await bench.stopKubelet()
    await bench.startKubelet()
    await bench.clock.advanceAsync(20_000)
    const after = await bench.untilPod('app', isReady)
    expect(statusOf(after, 'main')).toEqual(statusOf(before, 'main'))
  })

  it('removes what was deleted meanwhile', async () => {
    await open()
    await bench.create('app', {})
    await bench.untilPod('app', isReady)
    await bench.stopKubelet()
    await bench.pods().delete('app', { gracePeriodSeconds: 0 })
    await bench.startKubelet()
    await bench.until(
      () => bench.runtime.listPodSandbox(),
      (sandboxes) => sandboxes.length === 0,
    )
  })
})

describe('a node that is about to end its pods', () => {
  const readiness = (pod: Pod) => ({ ready: isReady(pod), container: statusOf(pod, 'main') })

  it.each([
    ['without probes', {}],
    ['with probes that succeed', { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } }],
  ])('takes them out of traffic first: %s', async (_what, probes) => {
    await open()
    await bench.create('app', { containers: [named('main', probes)] })
    const before = await bench.untilPod('app', isReady)
    await bench.kubelet!.withdrawPods()
    const { containerID, state } = statusOf(before, 'main')
    const gone = { ready: false, container: { ready: false, started: true, containerID, state } }
    expect(readiness(await bench.get('app'))).toMatchObject(gone)
    await bench.clock.advanceAsync(20_000)
    expect(readiness(await bench.get('app'))).toMatchObject(gone)
  })

  it('and the next start finds them so, until they run again', async () => {
    await open()
    await bench.create('app', {})
    const before = await bench.untilPod('app', isReady)
    await bench.kubelet!.withdrawPods()
    await bench.stopKubelet()
    for (const { id } of await bench.runtime.listPodSandbox()) await bench.runtime.removePodSandbox(id)
    expect(isReady(await bench.get('app'))).toBe(false)
    await bench.startKubelet()
    const after = await bench.untilPod('app', isReady)
    expect(statusOf(after, 'main').containerID).not.toBe(statusOf(before, 'main').containerID)
  })

  it('and was killed before it could: the next one goes on with them', async () => {
    await open()
    await bench.create('app', {})
    const before = await bench.untilPod('app', isReady)
    await bench.kubelet!.withdrawPods()
    await bench.stopKubelet()
    await bench.startKubelet()
    const after = await bench.untilPod('app', isReady)
    expect(statusOf(after, 'main')).toEqual(statusOf(before, 'main'))
  })

  it('and does not wait for an API server that does not answer', async () => {
    let isThere = true
    await open({
      transport: (real) => ({
        call: (call) => (isThere ? real.call(call) : new Promise(() => {})),
        watch: (call) => real.watch(call),
        [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
      }),
    })
    await bench.create('app', {})
    await bench.untilPod('app', isReady)
    isThere = false
    const withdrawn = bench.kubelet!.withdrawPods()
    await bench.clock.advanceAsync(5000)
    await withdrawn
    isThere = true
  })

  it('and leaves alone what has ended', async () => {
    await open({ program: () => ({ exitAfter: 1000, exitCode: 0 }) })
    await bench.create('job', { restartPolicy: 'Never' })
    const before = await bench.untilPod('job', phaseIs('Succeeded'))
    await bench.kubelet!.withdrawPods()
    expect((await bench.get('job')).status).toEqual(before.status)
  })
})

describe('sandboxes', () => {
  it('that die are made anew, and their containers with them', async () => {
    await open()
    await bench.create('app', {})
    const pod = await bench.untilPod('app', isReady)
    const [sandbox] = await bench.runtime.listPodSandbox()
    await bench.runtime.stopPodSandbox(sandbox!.id)
    const again = await bench.untilPod('app', (one) => isReady(one) && one.status?.podIP !== pod.status?.podIP)
    expect(statusOf(again, 'main').restartCount).toBe(1)
    await bench.untilEvent('app', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.')
  })

  it('that cannot be made are tried again', async () => {
    let failure: string | undefined = 'no addresses left'
    await open({ sandboxError: () => failure })
    await bench.create('app', {})
    await bench.untilEvent('app', 'FailedCreatePodSandBox', 'Failed to create pod sandbox: no addresses left')
    failure = undefined
    await bench.untilPod('app', isReady)
  })

  it('with users of their own have each their own ids, also for the next kubelet', async () => {
    await open()
    const rangeOf = async (name: string) => {
      const [one] = await bench.runtime.listContainers({ labels: { 'io.kubernetes.pod.name': name } })
      return bench.runtime.configOf(one!.id).security.namespaces.user?.uids
    }
    const range = (number: number) => [{ containerId: 0, hostId: number * 65_536, length: 65_536 }]
    for (const name of ['one', 'two']) await bench.create(name, { hostUsers: false, terminationGracePeriodSeconds: 1 })
    for (const name of ['one', 'two']) await bench.untilPod(name, isReady)
    expect([await rangeOf('one'), await rangeOf('two')].sort()).toEqual([range(1), range(2)].sort())
    const kept = await rangeOf('two')
    await bench.pods().delete('one')
    await bench.untilGone('one')
    await bench.stopKubelet()
    await bench.startKubelet()
    await bench.create('three', { hostUsers: false })
    await bench.untilPod('three', isReady)
    expect(await rangeOf('two')).toEqual(kept)
    expect(await rangeOf('three')).not.toEqual(kept)
    await bench.create('plain', {})
    await bench.untilPod('plain', isReady)
    expect(await rangeOf('plain')).toBeUndefined()
  })
})
