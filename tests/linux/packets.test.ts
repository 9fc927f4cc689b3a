/** Real packets: a client, a service address, two endpoints, all on the loopback of one namespace of our own. */
import { createServer, type Server, Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Conntrack, FlowEvent } from '../../src/linux/conntrack.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import type { NftExpression } from '../../src/linux/nft-expressions.ts'
import type { TraceStep } from '../../src/linux/nft-trace.ts'
import { NftTransaction } from '../../src/linux/nft-transaction.ts'
import { encodeValues } from '../../src/linux/nft-values.ts'
import type { NftChain, NftSet } from '../../src/linux/nftables.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import { asRoot } from './as-root.ts'

const AF_INET = 2
const SOCK_STREAM_NONBLOCK = 1 | 0o4000 | 0o2000000
const SERVICE = '10.96.0.1'
const ENDPOINTS = ['10.244.0.5', '10.244.0.6']

function socketAddress(ip: string, port: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes[0] = AF_INET
  bytes.writeUInt16BE(port, 2)
  bytes.set(ip.split('.').map(Number), 4)
  return bytes
}

const table = { family: 'ip', name: 'sampan' } as const
const chain = (name: string): NftChain => ({ table, name })
const services: NftSet = { table, name: 'services', key: ['ipv4_addr', 'inet_proto', 'inet_service'], data: 'verdict' }
const endpoints: NftSet = {
  table,
  name: 'endpoints',
  key: ['ipv4_addr', 'inet_proto', 'inet_service', 'mark'],
  data: ['ipv4_addr', 'inet_service'],
}
const flowKey: readonly NftExpression[] = [
  { expr: 'payload', base: 'network', offset: 16, length: 4, to: 0 },
  { expr: 'meta', key: 'l4proto', to: 1 },
  { expr: 'payload', base: 'transport', offset: 2, length: 2, to: 2 },
]

function proxyRules(): NftTransaction {
  return new NftTransaction()
    .addTable(table)
    .addChain({ table, name: 'trace', base: { type: 'filter', hook: 'output', priority: -350 } })
    .addChain({ table, name: 'nat-output', base: { type: 'nat', hook: 'output', priority: -100 } })
    .addChain(chain('lb-2'))
    .addSet(services)
    .addSet(endpoints)
    .addRule(chain('trace'), {
      expressions: [
        { expr: 'immediate', to: 0, value: Buffer.from([1]) },
        { expr: 'meta-set', key: 'nftrace', from: 0 },
      ],
    })
    .addRule(chain('nat-output'), { expressions: [...flowKey, { expr: 'verdict-map', set: 'services', from: 0 }] })
    .addRule(chain('lb-2'), {
      expressions: [
        ...flowKey,
        { expr: 'number', mode: 'incremental', modulus: 2, to: 3 },
        { expr: 'map', set: 'endpoints', from: 0, to: 4 },
        { expr: 'nat', type: 'destination', family: 'ip', address: 4, port: 5 },
      ],
    })
    .addElements(
      endpoints,
      ENDPOINTS.map((ip, index) => ({
        key: encodeValues(endpoints.key, [SERVICE, 6, 80, index]),
        data: encodeValues(['ipv4_addr', 'inet_service'], [ip, 8080]),
      })),
    )
    .addElements(services, [
      { key: encodeValues(services.key, [SERVICE, 6, 80]), verdict: { verdict: 'goto', chain: 'lb-2' } },
    ])
}

asRoot('packets', () => {
  let linux: Linux
  let inside: NetworkNamespace
  const opened: Disposable[] = []
  const servers: Server[] = []
  const sockets: Socket[] = []

  beforeEach(async () => {
    linux = kernelLinux()
    inside = linux.namespaces.create(`sampan-packets-${process.pid}`)
    const network = linux.openRtnetlink(inside)
    opened.push(network)
    network.changeLink(LOOPBACK_INDEX, { up: true })
    for (const ip of ENDPOINTS) network.addAddress({ link: LOOPBACK_INDEX, address: `${ip}/32` })
    network.addRoute({ destination: '10.96.0.0/12', link: LOOPBACK_INDEX })
    const nftables = linux.openNftables(inside)
    opened.push(nftables)
    await nftables.commit(proxyRules())
    for (const ip of ENDPOINTS) servers.push(await serve(ip))
  })

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const server of servers.splice(0)) server.close()
    for (const resource of opened.splice(0)) resource[Symbol.dispose]()
    inside[Symbol.dispose]()
    linux.namespaces.delete(inside.name)
  })

  /** A socket belongs to the namespace it is made in: made inside, used by Node outside. */
  const socketInside = () =>
    linux.namespaces.inNamespace(inside, () => linuxCalls().socket(AF_INET, SOCK_STREAM_NONBLOCK, 0))

  function serve(ip: string): Promise<Server> {
    const fd = socketInside()
    expect(linuxCalls().bind(fd, socketAddress(ip, 8080))).toBe(0)
    const server = createServer((connection) => {
      connection.on('error', () => {})
      connection.write(ip)
    })
    return new Promise((resolve) => server.listen({ fd }, () => resolve(server)))
  }

  /** Which endpoint answers. */
  function ask(): Promise<{ answer: string; socket: Socket }> {
    const fd = socketInside()
    linuxCalls().connect(fd, socketAddress(SERVICE, 80))
    const socket = new Socket({ fd })
    sockets.push(socket)
    return new Promise((resolve, reject) => {
      socket.once('data', (data) => resolve({ answer: String(data), socket }))
      socket.once('error', reject)
    })
  }

  test('are spread over the endpoints of a service', async () => {
    const answers: string[] = []
    for (let i = 0; i < 4; i++) answers.push((await ask()).answer)
    expect(answers.sort()).toEqual([ENDPOINTS[0], ENDPOINTS[0], ENDPOINTS[1], ENDPOINTS[1]])
  })

  test('leave flows and events', async () => {
    const conntrack: Conntrack = linux.openConntrack(inside)
    opened.push(conntrack)
    const events: FlowEvent[] = []
    const watch = conntrack.watch((event) => events.push(event))
    const { answer } = await ask()
    const [flow] = conntrack.list('ip', { protocol: 6, destination: SERVICE, destinationPort: 80 })
    expect(flow).toMatchObject({ original: { destination: SERVICE }, reply: { source: answer, sourcePort: 8080 } })
    await expect.poll(() => events.map(({ change }) => change)).toContain('new')
    watch[Symbol.dispose]()
  })

  test('are traced rule by rule', async () => {
    const trace = linux.openNftTrace(inside)
    opened.push(trace)
    const steps: TraceStep[] = []
    const watch = trace.watch((step) => steps.push(step))
    await ask()
    const chosen = (step: TraceStep) => step.chain === 'nat-output' && step.verdict?.verdict === 'goto'
    await expect.poll(() => steps.some(chosen)).toBe(true)
    const first = steps.find(({ packet }) => packet)!
    expect(first.packet).toMatchObject({ destination: SERVICE, destinationPort: 80, protocol: 6 })
    const nftables = linux.openNftables(inside)
    opened.push(nftables)
    const rule = nftables.list(table)!.rules.find(({ chain: name }) => name === 'nat-output')!
    expect(steps.find(chosen)).toMatchObject({ at: 'rule', handle: rule.handle, verdict: { chain: 'lb-2' } })
    watch[Symbol.dispose]()
  })

  test('of one connection can be ended', async () => {
    const diagnostics = linux.openSocketDiagnostics(inside)
    opened.push(diagnostics)
    const { socket } = await ask()
    const listening = diagnostics.list('tcp', 'ip').filter(({ state }) => state === 'listening')
    expect(listening.map(({ localAddress }) => localAddress).sort()).toEqual(ENDPOINTS)
    const [client] = diagnostics
      .list('tcp', 'ip')
      .filter(({ state, remotePort }) => state === 'established' && remotePort === 80)
    const ended = new Promise<string>((resolve) =>
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code!)),
    )
    diagnostics.destroy(client!)
    expect(await ended).toBe('ECONNABORTED')
    expect(diagnostics.list('tcp', 'ip').some(({ cookie }) => cookie === client!.cookie)).toBe(false)
  })
})
