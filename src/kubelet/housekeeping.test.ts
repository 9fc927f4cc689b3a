import { appendFile, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { Node } from '../api/generated/core-v1.ts'
import type { PodSandboxConfig } from '../container-runtime/sandbox-config.ts'
import { isReady, phaseIs, type Workbench, workbench } from './workbench.contract.ts'

let bench: Workbench
afterEach(() => bench[Symbol.asyncDispose]())

const MINUTE = 60_000
const LOG_LIMIT = 10 * 1024 * 1024

it('replaces a token when most of its life is over', async () => {
  bench = await workbench()
  const projected = { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }] }
  const main = { name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }
  await bench.create('app', { volumes: [{ name: 'v', projected }], containers: [main] })
  await bench.untilPod('app', isReady)
  const [container] = await bench.runtime.listContainers()
  const { hostPath } = bench.runtime.configOf(container!.id).mounts.find(({ containerPath }) => containerPath === '/v')!
  const token = () => readFile(path.join(hostPath, 'token'), 'utf8')
  const first = await token()
  await bench.clock.advanceAsync(40 * MINUTE)
  expect(await token()).toBe(first)
  await bench.until(token, (text) => text !== first, 15 * MINUTE, 10_000)
})

it('rotates a log that has grown, packs the older ones and keeps few', async () => {
  bench = await workbench()
  await bench.create('app', {})
  const { metadata } = await bench.untilPod('app', isReady)
  const folder = path.join(bench.rootDir, 'log', 'pods', `default_app_${metadata.uid}`, 'main')
  const rotated = async () => (await readdir(folder)).filter((name) => name !== '0.log').sort()
  for (let i = 1; i <= 6; i++) {
    await appendFile(path.join(folder, '0.log'), 'x'.repeat(LOG_LIMIT))
    const before = (await rotated()).at(-1)
    await bench.until(rotated, (names) => names.at(-1) !== before && /\d$/.test(names.at(-1) ?? ''))
    const size = await stat(path.join(folder, '0.log')).then(
      (found) => found.size,
      () => 0,
    )
    expect(size).toBeLessThan(LOG_LIMIT)
  }
  const names = await rotated()
  expect(names).toHaveLength(4)
  expect(names.slice(0, -1).every((name) => /^0\.log\.\d{8}-\d{6}\.gz$/.test(name))).toBe(true)
})

it('evicts when the node can hardly start another process', async () => {
  const evictionThresholds = {
    memoryAvailableBytes: 0,
    diskAvailableFraction: 0,
    inodesFreeFraction: 0,
    pidsAvailable: Number.MAX_SAFE_INTEGER,
  }
  bench = await workbench({ kubelet: { evictionThresholds } })
  await bench.create('app', {})
  const evicted = await bench.untilPod('app', phaseIs('Failed'))
  expect(evicted.status).toMatchObject({
    reason: 'Evicted',
    message: expect.stringMatching(/^The node was low on resource: pids\. Threshold quantity: \d+, available: \d+\. $/),
  })
  const nodes = bench.client.resource<Node>({ group: '', version: 'v1', plural: 'nodes', namespaced: false })
  const pressure = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'PIDPressure')?.status
  await bench.until(
    () => nodes.get('node-1'),
    (node) => pressure(node) === 'True',
  )
})

it('gives the runtime the handler of a RuntimeClass, not its name', async () => {
  bench = await workbench()
  const made: PodSandboxConfig[] = []
  const run = bench.runtime.runPodSandbox.bind(bench.runtime)
  bench.runtime.runPodSandbox = (config) => {
    made.push(config)
    return run(config)
  }
  await bench.client
    .resource({ group: 'node.k8s.io', version: 'v1', plural: 'runtimeclasses', namespaced: false })
    .create({
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'quick' },
      handler: 'swift',
    } as never)
  await bench.create('app', { runtimeClassName: 'quick' })
  await bench.create('plain', {})
  await bench.untilPod('app', isReady)
  await bench.untilPod('plain', isReady)
  const handlers = Object.fromEntries(made.map(({ metadata, runtimeHandler }) => [metadata.name, runtimeHandler]))
  expect(handlers).toEqual({ app: 'swift', plain: undefined })
})
