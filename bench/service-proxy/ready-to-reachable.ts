/** From the kubelet's word that a pod is ready to the first connection to it through its Service: API server, controllers, proxy. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createClient } from '../../src/client/client.ts'
import { createHttpTransport } from '../../src/client/http-transport.ts'
import { connectionOf, loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { startServiceProxy } from '../../src/service-proxy/service-proxy.ts'
import { pause } from '../measure.ts'
import { endpointsAt, PORT, TARGET_PORT } from './cluster-services.ts'
import type { Listening } from './connect-latency.ts'

const SERVICE_IP = '10.96.7.7'
const NODE = 'here'
const POD = 'endpoint'
const LABELS = { app: POD }

/** Milliseconds, of each round. */
export async function readyToReachable(
  linux: Linux,
  namespace: NetworkNamespace,
  listening: Listening,
  rounds: number,
): Promise<number[]> {
  await using cluster = await startCluster()
  await using transport = await httpTransport(cluster)
  await using proxy = await startServiceProxy({
    ...{ transport, linux, namespace, clock: systemClock, random: systemRandom, log: silentLogger },
    ...{ nodeName: NODE, nodeIPs: ['192.0.2.1'], mode: 'nftables', healthPort: 'none' },
    localDetector: { by: 'cidr', cidrs: ['10.128.0.0/9'] },
  })
  const client = createClient(transport)
  await createObjects(cluster)
  await proxy.ready
  const pods = client.resource(podKind).namespace('default')
  const say = (isReady: boolean) => pods.patch(POD, statusOf(isReady), { subresource: 'status' })
  const whenAnswered = async (expected: boolean) => {
    while (listening.answers(SERVICE_IP, PORT) !== expected) await pause(1)
  }
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    await say(false)
    await whenAnswered(false)
    const start = performance.now()
    const said = say(true)
    await whenAnswered(true)
    times.push(performance.now() - start)
    await said
  }
  return times
}

async function httpTransport(cluster: Cluster) {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-reachable-'))
  try {
    const file = path.join(folder, 'kubeconfig')
    writeFileSync(file, cluster.kubeconfig, { mode: 0o600 })
    const connection = await connectionOf(await loadKubeconfig([file]))
    return createHttpTransport({ ...connection, clock: systemClock, userAgent: 'bench' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function createObjects({ client }: Cluster): Promise<void> {
  await client.resource(nodeKind).create({ metadata: { name: NODE } })
  const ports = [{ port: PORT, targetPort: TARGET_PORT }]
  await client
    .resource(serviceKind)
    .namespace('default')
    .create({ metadata: { name: POD }, spec: { clusterIP: SERVICE_IP, selector: LABELS, ports } })
  await client
    .resource(podKind)
    .namespace('default')
    .create({
      metadata: { name: POD, labels: LABELS },
      spec: {
        nodeName: NODE,
        tolerations: [{ operator: 'Exists' }],
        automountServiceAccountToken: false,
        containers: [{ name: 'main', image: 'none' }],
      },
    })
}

function statusOf(isReady: boolean) {
  const [ip] = endpointsAt(0) as [string]
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  return { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions } }
}
