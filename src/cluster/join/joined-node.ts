/** A node of a cluster on another machine: its process, and certificates that never end. */
import { readFile } from 'node:fs/promises'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createHttpTransport, type HttpTransport } from '../../client/http-transport.ts'
import { connectionOf, loadKubeconfig } from '../../client/kubeconfig.ts'
import type { Linux } from '../../linux/linux.ts'
import { startMachineNode } from '../local-nodes/machine-node.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import { clusterCaPath, type NodeSettings, nodeKubeconfigPath } from '../node/node-settings.ts'
import { fetchConfiguration } from './enrol.ts'
import { type Membership, settingsOfNode, writeMembership } from './membership.ts'
import { addressTowards } from './own-address.ts'
import { renewCertificates } from './renewal.ts'

export interface JoinedNodeOptions {
  /** Where the membership is written down. */
  readonly dataDir: string
  /** The program, `sampan-node.js`. */
  readonly entry: string
  readonly linux: Linux
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

const HOUR = 3_600_000
/** As kubelets do: after seven to nine tenths of its life a certificate is renewed, so that not all come at once. */
const EARLIEST_SHARE = 0.7
const SHARE_SPREAD = 0.2
const REFRESH_TIMEOUT = 5000

/** Runs the node until disposed, which ends its pods and takes away all it put into the kernel. */
export async function startJoinedNode(known: Membership, options: JoinedNodeOptions): Promise<AsyncDisposable> {
  const { clock, random, log } = options
  const membership = await refreshed(known, log, clock)
  await writeMembership(options.dataDir, membership)
  const share = EARLIEST_SHARE + SHARE_SPREAD * random.next()
  const renew = () => renewed(membership, share, clock, log)
  await renew()
  const node = await startMachineNode(membership.node, options)
  const renewal = every(HOUR, clock, async () => {
    if (await renew()) await node.restart()
  })
  return {
    async [Symbol.asyncDispose]() {
      renewal[Symbol.dispose]()
      await node.stop()
    },
  }
}

/** Resolves when the cluster says that the node is ready; rejects with the signal. */
export async function whenReady(membership: Membership, clock: Clock, signal: AbortSignal): Promise<void> {
  await using transport = await transportOf(membership.node, clock)
  const nodes = createClient(transport).resource(nodeKind)
  for (;;) {
    const node = await nodes.get(membership.node.name).catch(() => undefined)
    if (isConditionTrue(node?.status?.conditions, 'Ready')) return
    await clock.sleep(200, signal)
  }
}

async function transportOf({ dataDir }: NodeSettings, clock: Clock, timeout?: number): Promise<HttpTransport> {
  const connection = await connectionOf(await loadKubeconfig([nodeKubeconfigPath(dataDir, 'kubelet')]))
  return createHttpTransport({ ...connection, clock, userAgent: 'sampan-join', ...(timeout && { timeout }) })
}

/** Takes up what may have changed since the last start: the machine's address, its DNS servers, the cluster's settings. */
async function refreshed(known: Membership, log: Logger, clock: Clock): Promise<Membership> {
  const { server, node, chosen } = known
  const address = chosen.nodeIp ?? (await addressTowards(new URL(server)).catch(() => node.address))
  const agreed = await fetchAgreed(node, log, clock)
  return { ...known, node: settingsOfNode({ ...node, address }, agreed, chosen) }
}

async function fetchAgreed(node: NodeSettings, log: Logger, clock: Clock): Promise<AgreedConfiguration> {
  await using transport = await transportOf(node, clock, REFRESH_TIMEOUT)
  try {
    return await fetchConfiguration(createClient(transport))
  } catch (error) {
    log.warn('the cluster does not answer; the node starts with its last settings', { error })
    return node
  }
}

/** Whether there are new certificates. A cluster that does not answer is asked again in an hour. */
async function renewed({ server, node }: Membership, share: number, clock: Clock, log: Logger): Promise<boolean> {
  const cluster = { server, ca: await readFile(clusterCaPath(node.dataDir), 'utf8') }
  await using transport = await transportOf(node, clock)
  try {
    const uses = await renewCertificates({ cluster, identity: node, transport, share, clock })
    if (uses.length > 0) log.info('new certificates', { uses: uses.join() })
    return uses.length > 0
  } catch (error) {
    log.error('certificates could not be renewed', { error })
    return false
  }
}

/** Also what keeps the process alive: the node is another one. */
function every(interval: number, clock: Clock, work: () => Promise<void>): Disposable {
  let timer: Timer
  let isOver = false
  const arm = () => {
    timer = clock.after(interval, () => void work().finally(() => !isOver && arm()))
  }
  arm()
  return {
    [Symbol.dispose]() {
      isOver = true
      timer.cancel()
    },
  }
}
