/** Limits of pods as the kernel has them, on whichever cgroups this machine has. */
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type ClusterCertificates, loadCertificates } from '../../src/cluster/certificates.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { asRoot } from '../linux/as-root.ts'
import { IMAGE, isReady, mainOf, phaseIs, type RealNode, realNode, sh, until } from './kubelet-under-test.ts'

const { version } = openCgroups({ root: '' })
const PIDS_LIMIT = 64

/** The same wishes in the files of either version. */
const FILES = {
  v1: {
    container: [
      ['cpu', 'cpu.cfs_quota_us', '20000'],
      ['cpu', 'cpu.shares', '102'],
      ['memory', 'memory.limit_in_bytes', String(32 << 20)],
    ],
    pod: [
      ['cpu', 'cpu.cfs_quota_us', '20000'],
      ['memory', 'memory.limit_in_bytes', String(32 << 20)],
      ['pids', 'pids.max', String(PIDS_LIMIT)],
    ],
  },
  v2: {
    container: [
      ['', 'cpu.max', '20000 100000'],
      ['', 'cpu.weight', '4'],
      ['', 'memory.max', String(32 << 20)],
      ['', 'memory.oom.group', '1'],
    ],
    pod: [
      ['', 'cpu.max', '20000 100000'],
      ['', 'memory.max', String(32 << 20)],
      ['', 'pids.max', String(PIDS_LIMIT)],
    ],
  },
} as const

asRoot(`limits of pods on cgroup ${version}`, () => {
  let node: RealNode
  let certificates: ClusterCertificates
  beforeAll(async () => {
    certificates = await loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1'] })
    const { key, cert } = certificates.issueServer('system:node:node-1', ['system:nodes'], ['127.0.0.1'])
    node = await realNode({
      podPidsLimit: PIDS_LIMIT,
      listen: { host: '127.0.0.1', port: 0 },
      tls: { key, cert, clientCa: certificates.ca.cert },
    })
  })
  afterAll(() => node?.[Symbol.asyncDispose]())

  const resources = { limits: { cpu: '200m', memory: '32Mi' }, requests: { cpu: '100m', memory: '16Mi' } }
  const limited = (script: string) => ({ ...sh(script), resources })

  function summary(): Promise<Summary> {
    const { port } = node.kubelet.address!
    return new Promise((resolve, reject) => {
      const tls = { ca: certificates.ca.cert, ...certificates.admin, agent: false }
      const asked = request({ host: '127.0.0.1', port, path: '/stats/summary', ...tls }, async (answer) => {
        let body = ''
        for await (const chunk of answer) body += chunk
        resolve(JSON.parse(body) as Summary)
      })
      asked.on('error', reject).end()
    })
  }

  test('are in the files of the container and of the pod', async () => {
    await node.run('limited', { containers: [limited('sleep 1000')] })
    const pod = await node.untilPod('limited', isReady)
    const id = mainOf(pod).containerID!.split('//')[1]!
    const folder = `${node.cgroupRoot}/kubepods/burstable/pod${pod.metadata.uid}`
    const read = (controller: string, file: string) =>
      readFileSync(['/sys/fs/cgroup', controller, folder, file].join('/'), 'utf8').trim()
    for (const [controller, file, value] of FILES[version].container)
      expect([file, read(controller, `${id}/${file}`)]).toEqual([file, value])
    for (const [controller, file, value] of FILES[version].pod)
      expect([file, read(controller, file)]).toEqual([file, value])
  })

  test('too much memory: OOMKilled, and started again', async () => {
    const hog = limited(
      'test -e /disk/tried && exec sleep 1000; touch /disk/tried; dd if=/dev/zero of=/dev/null bs=200M',
    )
    await node.run('hog', {
      volumes: [{ name: 'disk', emptyDir: {} }],
      containers: [{ ...hog, volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }],
    })
    const pod = await node.untilPod('hog', (one) => mainOf(one).restartCount === 1 && isReady(one))
    expect(mainOf(pod).lastState?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 })
  })

  test('a fork bomb stops at the limit, and its neighbours do not feel it', async () => {
    await node.run('bomb', {
      containers: [{ name: 'main', image: IMAGE, command: ['sh', '-c', 'bomb() { bomb | bomb & }; bomb; sleep 1000'] }],
    })
    const processes = async () => podOf(await summary(), 'bomb')?.process_stats.process_count ?? 0
    expect(await until(processes, (count) => count > 10, 60_000)).toBeLessThanOrEqual(PIDS_LIMIT)
    expect((await node.exec('limited', ['true'])).code).toBe(0)
    await node.pods().delete('bomb')
    await node.untilGone('bomb')
  })

  test('what pods use is told', async () => {
    await node.run('busy', { containers: [limited('x=0; while true; do x=$((x+1)); done')] })
    await node.untilPod('busy', phaseIs('Running'))
    // A rate needs two samples.
    const busy = await until(
      async () => podOf(await summary(), 'busy')?.containers[0],
      (found) => (found?.cpu.usageNanoCores ?? 0) > 0,
      60_000,
    )
    // A fifth of a core was asked for; the kernel counts in slices of 5 ms, the test in samples of 5 s.
    expect(busy!.cpu.usageNanoCores).toBeLessThan(300_000_000)
    expect(busy!.cpu.usageCoreNanoSeconds).toBeGreaterThan(0)
    expect(busy!.memory.usageBytes).toBeGreaterThan(0)
    expect(busy!.memory.usageBytes).toBeLessThan(32 << 20)
    expect(busy!.memory.workingSetBytes).toBeLessThanOrEqual(busy!.memory.usageBytes)
    const whole = podOf(await summary(), 'busy')!
    expect(whole.cpu.usageCoreNanoSeconds).toBeGreaterThanOrEqual(busy!.cpu.usageCoreNanoSeconds)
    expect(whole.process_stats.process_count).toBe(1)
  })

  test('with the pods their groups go', async () => {
    for (const name of ['limited', 'hog', 'busy']) {
      await node.pods().delete(name)
      await node.untilGone(name)
    }
    expect(node.leftovers()).toEqual([])
  })
})

interface Summary {
  readonly pods: readonly PodSummary[]
}

interface PodSummary {
  readonly podRef: { readonly name: string }
  readonly containers: readonly {
    readonly cpu: { readonly usageNanoCores?: number; readonly usageCoreNanoSeconds: number }
    readonly memory: { readonly usageBytes: number; readonly workingSetBytes: number }
  }[]
  readonly cpu: { readonly usageCoreNanoSeconds: number }
  readonly process_stats: { readonly process_count: number }
}

const podOf = ({ pods }: Summary, name: string) => pods.find(({ podRef }) => podRef.name === name)
