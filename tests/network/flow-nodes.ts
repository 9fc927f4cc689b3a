/**
 * The network behind the names of the packet-flow tables on several nodes, each with the pod network that `sampan up` would
 * give it, both families at once:
 *
 *   pods P L1 L2 ── node N ── outside E F
 *                     │
 *                  a switch ── node O ── pods Q R1 (and R2, if there is no third node)
 *                     │
 *                  a third node ── pod R2
 *
 * A node's address in the tables is not the one by which nodes reach each other: so masquerading can be seen.
 */
import type { IPFamily } from '../../src/base/ip-address.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LOOPBACK_INDEX, type Rtnetlink } from '../../src/linux/rtnetlink.ts'
import type { NetworkBackendName } from '../../src/pod-network/backends.ts'
import {
  addressOf,
  type Placement,
  TARGET_PORT,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { connectOutside, FAMILIES, type FlowNetwork, type FlowNode, patientWithRefusals } from './flow-network.ts'
import { serveSctp } from './flow-sctp.ts'
import { type Place, serve } from './flow-sockets.ts'
import { Lab, type Machine, type Pod, podCIDRs } from './pod-network-lab.ts'

const ALL: Readonly<Record<IPFamily, string>> = { IPv4: '0.0.0.0/0', IPv6: '::/0' }
const HOST: Readonly<Record<IPFamily, number>> = { IPv4: 32, IPv6: 128 }
const PATIENCE_MS = 20_000
const NODE_NAMES = [THIS_NODE, 'there', 'elsewhere']
/** By the number of nodes: which pods each of them has. */
const PODS: Readonly<Record<2 | 3, readonly (readonly string[])[]>> = {
  2: [
    ['P', 'L1', 'L2'],
    ['Q', 'R1', 'R2'],
  ],
  3: [['P', 'L1', 'L2'], ['Q', 'R1'], ['R2']],
}

export interface FlowNodesOptions {
  readonly nodes: 2 | 3
  readonly backend: NetworkBackendName
}

export async function startFlowNodes(options: FlowNodesOptions): Promise<FlowNetwork> {
  const lab = new Lab()
  const closers: (() => void)[] = []
  const dispose = async () => {
    for (const close of closers) close()
    await lab[Symbol.asyncDispose]()
  }
  try {
    const machines = await startMachines(lab, options)
    const outside = lab.addNamespace('outside')
    connect(lab, machines, outside)
    const pods = await startPods(lab, machines, options)
    const place = placesOf(lab, machines, pods, outside)
    const placement = placementOn(pods, PODS[options.nodes])
    for (const name of ['L1', 'L2', 'R1', 'R2']) {
      for (const family of FAMILIES) {
        const server = [place(name), name, placement.addressOf(name, family), TARGET_PORT] as const
        closers.push(await serve(...server), serveSctp(...server))
      }
    }
    const nodes: FlowNode[] = ['N', 'O'].map((name, i) => ({ name, nodeName: NODE_NAMES[i]!, place: place(name) }))
    return { node: place('N'), nodes, placement, place, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

async function startMachines(lab: Lab, { nodes }: FlowNodesOptions): Promise<Machine[]> {
  const machines = NODE_NAMES.slice(0, nodes).map((name) => lab.addMachine(name))
  for (const [i, machine] of machines.entries()) await lab.register(machine, podCIDRs(i + 1))
  return machines
}

async function startPods(
  lab: Lab,
  machines: readonly Machine[],
  { nodes, backend }: FlowNodesOptions,
): Promise<ReadonlyMap<string, Pod>> {
  const pods = new Map<string, Pod>()
  for (const [i, machine] of machines.entries()) {
    const network = await lab.startNetwork(machine, { backend })
    for (const name of PODS[nodes][i]!) pods.set(name, await lab.addPod(network))
  }
  for (const name of PODS[nodes].flat()) await untilReached(lab, pods.get(name)!, [...pods.values()])
  return pods
}

/** Each node learns of the others a little after it has started. */
async function untilReached(lab: Lab, pod: Pod, from: readonly Pod[]): Promise<void> {
  const asks = from.flatMap(({ inside }) => pod.addresses.map((address) => [inside, address] as const))
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    const answers = await Promise.all(asks.map(([inside, address]) => lab.ping(inside, address)))
    if (answers.every(Boolean)) return
    if (Date.now() > end) throw new Error(`not all pods reach ${pod.addresses.join(' and ')}`)
  }
}

/** Everything outside is behind the first node, as behind a router. */
function connect(lab: Lab, machines: readonly Machine[], outside: NetworkNamespace): void {
  const [first, second] = machines as [Machine, Machine]
  using node = lab.linux.openRtnetlink(first.inside)
  using beyond = lab.linux.openRtnetlink(outside)
  beyond.changeLink(LOOPBACK_INDEX, { up: true })
  connectOutside(node, beyond, outside)
  for (const machine of machines.slice(1)) {
    using network = lab.linux.openRtnetlink(machine.inside)
    addRoutes(network, (family) => [ALL[family], first.addresses[FAMILIES.indexOf(family)]!])
  }
  using other = lab.linux.openRtnetlink(second.inside)
  for (const family of FAMILIES) {
    other.addAddress({ link: LOOPBACK_INDEX, address: `${addressOf('O', family)}/${HOST[family]}` })
  }
  addRoutes(node, (family) => [
    `${addressOf('O', family)}/${HOST[family]}`,
    second.addresses[FAMILIES.indexOf(family)]!,
  ])
  for (const { inside } of machines) lab.linux.namespaces.inNamespace(inside, patientWithRefusals)
}

function addRoutes(network: Rtnetlink, to: (family: IPFamily) => [string, string]): void {
  const { index } = network.link('eth0')!
  for (const family of FAMILIES) {
    const [destination, gateway] = to(family)
    network.addRoute({ destination, gateway, link: index })
  }
}

function placesOf(
  { linux }: Lab,
  machines: readonly Machine[],
  pods: ReadonlyMap<string, Pod>,
  outside: NetworkNamespace,
): (name: string) => Place {
  const fixed: Readonly<Record<string, NetworkNamespace>> = {
    N: machines[0]!.inside,
    O: machines[1]!.inside,
    E: outside,
    F: outside,
  }
  return (name) => ({ linux, namespace: fixed[name] ?? pods.get(name)!.inside })
}

function placementOn(pods: ReadonlyMap<string, Pod>, byNode: readonly (readonly string[])[]): Placement {
  return {
    families: FAMILIES,
    addressOf: (name, family) => pods.get(name)?.addresses[FAMILIES.indexOf(family)] ?? addressOf(name, family),
    nodeNameOf: (endpoint) => NODE_NAMES[byNode.findIndex((names) => names.includes(endpoint))]!,
  }
}
