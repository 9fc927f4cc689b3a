/** Machines as network namespaces, joined by a switch that is one as well, and an API server that knows them as Nodes. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Transport } from '../../src/client/transport.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import { linuxIn } from '../../src/linux/linux-in.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { type Link, LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import { type NodeNetwork, type NodeNetworkOptions, startNodeNetwork } from '../../src/pod-network/node-network.ts'
import type { PodAttachment, PodSandbox } from '../../src/pod-network/pod-network.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import type { Store } from '../../src/store/store.ts'

let made = 0
const unique = (what: string) => `lab-${process.pid}-${made++}-${what}`

export const CLUSTER_CIDR = '10.244.0.0/16,fd00:10:244::/56'
export const podCIDRs = (machine: number) => [`10.244.${machine}.0/24`, `fd00:10:244:${machine}::/64`]

export interface Machine {
  readonly name: string
  readonly inside: NetworkNamespace
  readonly linux: Linux
  readonly addresses: readonly string[]
  readonly stateDir: string
  /** Its end of the cable, on the switch. */
  readonly port: Link
}

export interface Pod extends PodAttachment {
  readonly sandboxId: string
  readonly inside: NetworkNamespace
}

export class Lab {
  readonly linux = kernelLinux()
  readonly #switch = this.linux.namespaces.create(unique('switch'))
  readonly #wires = this.linux.openRtnetlink(this.#switch)
  readonly #bridge: Link
  readonly #namespaces: NetworkNamespace[] = [this.#switch]
  readonly #networks = new Set<NodeNetwork>()
  readonly #servers: Server[] = []
  readonly #sockets: Socket[] = []
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'pod-network-'))
  #store: Store | undefined
  #api: ApiServer | undefined
  #machines = 0

  constructor() {
    this.#bridge = this.#wires.addLink({ kind: 'bridge', name: 'switch', up: true, mtu: 1500 })
  }

  /** `10.9.0.1` and `fd09::1` for the first, and so on. */
  addMachine(name: string, { families = ['IPv4', 'IPv6'], mtu = 1500 } = {}): Machine {
    const number = ++this.#machines
    const inside = this.addNamespace(name)
    const peer = { name: 'eth0', namespace: inside, mtu }
    const cable = { kind: 'veth', name: `port${number}`, mtu, up: true, master: this.#bridge.index, peer } as const
    const port = this.#wires.addLink(cable)
    const network = this.linux.openRtnetlink(inside)
    const { index } = network.link('eth0')!
    // Machines that have been up for a while have proven their link-local addresses.
    this.linux.openSysctl(inside).write('net/ipv6/conf/eth0/accept_dad', 0)
    network.changeLink(LOOPBACK_INDEX, { up: true })
    network.changeLink(index, { up: true })
    const addresses = families.map((family) => (family === 'IPv4' ? `10.9.0.${number}` : `fd09::${number}`))
    for (const address of addresses) {
      network.addAddress({ link: index, address: `${address}/${address.includes(':') ? 64 : 24}` })
    }
    network[Symbol.dispose]()
    const stateDir = path.join(this.#directory, `${name}-${number}`)
    return { name, inside, linux: linuxIn(this.linux, inside), addresses, stateDir, port }
  }

  /** For what is neither a machine nor a pod. */
  addNamespace(name: string): NetworkNamespace {
    const namespace = this.linux.namespaces.create(unique(name))
    this.#namespaces.push(namespace)
    return namespace
  }

  async client(): Promise<Client> {
    return createClient(await this.transport())
  }

  async transport(): Promise<Transport> {
    this.#store ??= await openMemoryStore()
    const parts = { store: this.#store, clock: systemClock, random: seededRandom(1), log: silentLogger }
    this.#api ??= await startApiServer({ ...parts, serviceCidrs: ['10.96.0.0/16'] })
    return this.#api.transport({ name: 'admin', groups: ['system:masters'] })
  }

  async register({ name, addresses }: Machine, cidrs: readonly string[]): Promise<void> {
    const nodes = (await this.client()).resource(nodeKind)
    await nodes.create({ metadata: { name }, spec: { podCIDR: cidrs[0]!, podCIDRs: [...cidrs] } })
    const status = { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) }
    await nodes.patch(name, { status }, { subresource: 'status' })
  }

  /** As a process on the machine would start it. */
  async startNetwork(machine: Machine, options: Partial<NodeNetworkOptions> = {}): Promise<NodeNetwork> {
    const { name: nodeName, linux, stateDir } = machine
    const network = await startNodeNetwork({
      transport: await this.transport(),
      nodeName,
      linux,
      stateDir,
      backend: 'none',
      clusterCidr: CLUSTER_CIDR,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      ...options,
    })
    this.#networks.add(network)
    await network.ready
    return network
  }

  /** The process ends; what it put into the kernel stays. */
  async stopNetwork(network: NodeNetwork): Promise<void> {
    this.#networks.delete(network)
    await network[Symbol.asyncDispose]()
  }

  async addPod({ podNetwork }: Pick<NodeNetwork, 'podNetwork'>, pod: Partial<PodSandbox> = {}): Promise<Pod> {
    const sandboxId = pod.sandboxId ?? unique('pod')
    const attached = await podNetwork.attach({
      namespace: 'default',
      name: sandboxId,
      uid: sandboxId,
      ...pod,
      sandboxId,
    })
    const inside = this.linux.namespaces.open(path.basename(attached.netnsPath))
    this.#namespaces.push(inside)
    return { ...attached, sandboxId, inside }
  }

  /** What the cable of a machine does. */
  setCable(machine: Machine, up: boolean): void {
    this.#wires.changeLink(machine.port.index, { up })
  }

  /** A server that tells each client the address it came from. */
  async serve(inside: NetworkNamespace, address: string, port: number): Promise<Server> {
    const fd = this.#socket(inside, address, (socket) => linuxCalls().bind(socket, socketAddress(address, port)))
    const server = createServer((connection) => {
      connection.on('error', () => {})
      connection.end(connection.remoteAddress ?? 'nobody')
    })
    this.#servers.push(server)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ fd }, resolve)
    })
    return server
  }

  /** What such a server says; `undefined` if nobody answers for a second. */
  ask(inside: NetworkNamespace, address: string, port: number): Promise<string | undefined> {
    const fd = this.#socket(inside, address, (socket) => linuxCalls().connect(socket, socketAddress(address, port)))
    const socket = new Socket({ fd })
    this.#sockets.push(socket)
    return new Promise((resolve) => {
      let text = ''
      const finish = (answer: string | undefined) => {
        socket.destroy()
        resolve(answer)
      }
      socket.setTimeout(1000, () => finish(undefined))
      socket.on('data', (data) => {
        text += String(data)
      })
      socket.once('end', () => finish(text))
      socket.once('error', () => finish(undefined))
    })
  }

  /** Whether an echo of so many bytes comes back, unfragmented. */
  async ping(inside: NetworkNamespace, address: string, { bytes = 56, seconds = 1 } = {}): Promise<boolean> {
    const args = ['-c', '1', '-W', String(seconds), '-M', 'do', '-s', String(bytes), address]
    return this.run(inside, 'ping', args).then(
      () => true,
      () => false,
    )
  }

  run(inside: NetworkNamespace, program: string, args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      this.linux.namespaces.inNamespace(inside, () => {
        execFile(program, args, (error, stdout, stderr) =>
          error ? reject(new Error(stdout + stderr)) : resolve(stdout),
        )
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    for (const server of this.#servers) server.close()
    try {
      for (const network of this.#networks) {
        await network.cleanup()
        await network[Symbol.asyncDispose]()
      }
      await this.#api?.[Symbol.asyncDispose]()
      await this.#store?.[Symbol.asyncDispose]()
    } finally {
      this.#removeMachines()
    }
  }

  #removeMachines(): void {
    this.#wires[Symbol.dispose]()
    const present = new Set(this.linux.namespaces.list())
    for (const namespace of this.#namespaces) {
      namespace[Symbol.dispose]()
      if (present.delete(namespace.name)) this.linux.namespaces.delete(namespace.name)
    }
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #socket(inside: NetworkNamespace, address: string, use: (fd: number) => number): number {
    const EINPROGRESS = 115
    return this.linux.namespaces.inNamespace(inside, () => {
      const fd = linuxCalls().socket(address.includes(':') ? AF_INET6 : AF_INET, STREAM_NONBLOCK_CLOEXEC, 0)
      const result = use(fd)
      if (result < 0 && result !== -EINPROGRESS) {
        linuxCalls().close(fd)
        throw new Error(`${address}: errno ${-result}`)
      }
      return fd
    })
  }
}

const AF_INET = 2
const AF_INET6 = 10
const STREAM_NONBLOCK_CLOEXEC = 1 | 0o4000 | 0o2000000

function socketAddress(address: string, port: number): Buffer {
  const isIPv6 = address.includes(':')
  const bytes = Buffer.alloc(isIPv6 ? 28 : 16)
  bytes[0] = isIPv6 ? AF_INET6 : AF_INET
  bytes.writeUInt16BE(port, 2)
  bytes.set(isIPv6 ? ipv6Bytes(address) : address.split('.').map(Number), isIPv6 ? 8 : 4)
  return bytes
}

function ipv6Bytes(address: string): number[] {
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(head), groups(tail)]
  const all = address.includes('::') ? [...first, ...Array(8 - first.length - last.length).fill(0), ...last] : first
  return all.flatMap((group: number) => [group >> 8, group & 255])
}
