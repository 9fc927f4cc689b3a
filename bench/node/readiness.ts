import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EndpointSlice } from '../../src/api/generated/discovery-v1.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startControllers } from '../../src/cluster/control-plane/start-controllers.ts'
import { isReady, type RealNode, sh } from '../../tests/kubelet/kubelet-under-test.ts'
import { pause, percentile } from '../measure.ts'
import { ms, type Row } from '../report.ts'

const SLICES = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices', namespaced: true }
const SERVICES = { group: '', version: 'v1', plural: 'services', namespaced: true }
const NAME = 'readiness'

/** From a probe's answer that is another than before to the EndpointSlice that says so, as a watch sees it. */
export async function readinessToSlice(node: RealNode, changes: number): Promise<Row> {
  let isHealthy = true
  let answered = 0
  const server = createServer((_, answer) => {
    answered = performance.now()
    answer.writeHead(isHealthy ? 200 : 503).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const controllers = await startControllers({
    transport: node.transport,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    names: ['endpointslice-controller'],
    isShared: false,
    rootCertificate: '',
    certificateSigner: { sign: () => '' } as never,
  })
  const watch = watchReady(node)
  try {
    await startPod(node, port)
    await until(() => watch.ready() === true)
    const times: number[] = []
    for (let i = 0; i < changes; i++) {
      isHealthy = !isHealthy
      await until(() => watch.ready() === isHealthy)
      times.push(watch.changedAt() - answered)
    }
    times.sort((a, b) => a - b)
    const ours = `${ms(percentile(times, 0.5))}, ${ms(percentile(times, 0.99))}`
    return {
      what: 'a readiness change is in the EndpointSlice after, p50 and p99',
      ours,
      peer: '',
      goal: 'p50 < 20 ms',
    }
  } finally {
    await watch.stop()
    await node
      .pods()
      .delete(NAME)
      .catch(() => {})
    await controllers[Symbol.asyncDispose]()
    server.close()
  }
}

async function startPod(node: RealNode, port: number): Promise<void> {
  const metadata = { name: NAME, labels: { app: NAME } }
  await node.client
    .resource(SERVICES)
    .namespace('default')
    .create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: { app: NAME }, ports: [{ port: 80 }] },
    } as never)
  const readinessProbe = {
    httpGet: { host: '127.0.0.1', port, path: '/' },
    periodSeconds: 1,
    failureThreshold: 1,
    timeoutSeconds: 5,
  }
  const spec = { nodeName: 'node-1', containers: [{ ...sh('sleep 1000'), readinessProbe }] }
  await node.pods().create({ apiVersion: 'v1', kind: 'Pod', metadata, spec } as never)
  await node.untilPod(NAME, isReady)
}

function watchReady(node: RealNode) {
  const ended = new AbortController()
  let ready: boolean | undefined
  let changedAt = 0
  const watching = (async () => {
    const slices = node.client.resource<EndpointSlice>(SLICES).namespace('default')
    for await (const events of slices.watch({ signal: ended.signal }))
      for (const { object } of events) {
        const now = (object as EndpointSlice).endpoints?.[0]?.conditions?.ready
        if (now === ready) continue
        ready = now
        changedAt = performance.now()
      }
  })().catch(() => {})
  return {
    ready: () => ready,
    changedAt: () => changedAt,
    async stop() {
      ended.abort()
      await watching
    },
  }
}

const PATIENCE = 30_000

async function until(isDone: () => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE; !isDone(); await pause(2))
    if (performance.now() > end) throw new Error('readiness did not change in time')
}
