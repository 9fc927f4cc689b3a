/**
 * The inner side: packets that leave the network of the user namespace end here. The kernel accepts TCP connections in the
 * name of their destination, and their bytes go to the outer side; of UDP and pings each packet does.
 *
 *     pods, nodes ── bridge ── [ tcp: redirected to a port of this process ] ── egress.sock ── outside.ts ── machine's network
 *                          └── egress0 ══ egress1 (another namespace) ── packet socket ──┘
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { AsyncDisposables } from '../../base/async-disposables.ts'
import type { Logger } from '../../base/log.ts'
import type { Linux } from '../../linux/linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { originalDestination } from '../../linux/original-destination.ts'
import { openPacketSocket } from '../../linux/packet-socket.ts'
import { LOOPBACK_INDEX, type Rtnetlink } from '../../linux/rtnetlink.ts'
import { DatagramReader, encodeDatagram } from './datagram.ts'
import { joinSockets } from './join-sockets.ts'
import { INSIDE, LINK_PREFIX, OUTSIDE } from './link-addresses.ts'
import { answerFrame, parseFrame } from './packet.ts'
import { readLine } from './read-line.ts'
import { redirectRules } from './redirect-rules.ts'

export interface EgressOptions {
  readonly linux: Linux
  /** The socket of the outer side. */
  readonly path: string
  /** Ranges inside, which are never redirected. */
  readonly inside: readonly string[]
  readonly log: Logger
}

export interface Egress extends AsyncDisposable {
  /** Resolves when the outer side has gone, unless this side went first. */
  readonly abandoned: Promise<void>
}

const LINK = 'egress0'
const PEER = 'egress1'
const NAMESPACE = 'sampan-egress'
/** No datagram is too long for the link. */
const MTU = 65_535

/** Opens the way out. Where the kernel lacks something for it, pods reach each other only, and the log says why. */
export async function startEgress(options: EgressOptions): Promise<Egress> {
  const lifeline = await ask(options.path, 'lifeline')
  const parts = new AsyncDisposables()
  let isOver = false
  const abandoned = new Promise<void>((resolve) => lifeline.on('end', () => isOver || resolve()).resume())
  try {
    await openWays(options, parts)
  } catch (error) {
    options.log.warn('pods cannot reach networks outside the cluster', { error })
  }
  return {
    abandoned,
    async [Symbol.asyncDispose]() {
      isOver = true
      lifeline.destroy()
      await parts.dispose()
    },
  }
}

async function openWays({ linux, path, inside }: EgressOptions, parts: AsyncDisposables): Promise<void> {
  const server = await acceptRedirected(path, parts)
  const { port } = server.address() as AddressInfo
  await carryDatagrams(linux, path, parts)
  using nftables = linux.openNftables()
  await nftables.commit(redirectRules(new NftTransaction(), { port, inside: [...inside, `${INSIDE}/${LINK_PREFIX}`] }))
}

function ask(path: string, request: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true }, () => {
      socket.off('error', reject).on('error', () => {})
      socket.write(`${request}\n`)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

async function acceptRedirected(path: string, parts: AsyncDisposables): Promise<Server> {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => {})
    const { port } = server.address() as AddressInfo
    handOut(socket, path, port).catch(() => socket.resetAndDestroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve))
  parts.use({
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  })
  return server
}

/** A connection that is refused outside is reset here: the kernel had accepted it before the answer was known. */
async function handOut(socket: Socket, path: string, ownPort: number): Promise<void> {
  const { host, port } = originalDestination(socket)
  // A connection to this port itself, not redirected by a rule.
  if (port === ownPort && host === socket.localAddress) throw new Error('not redirected')
  const other = await ask(path, `tcp ${host} ${port}`)
  socket.once('close', () => other.destroy())
  if ((await readLine(other)) !== 'ok') {
    other.destroy()
    throw new Error('refused')
  }
  joinSockets(socket, other)
}

/** A default route to a link whose other end is read packet by packet, in a namespace of its own that routes nothing. */
async function carryDatagrams(linux: Linux, path: string, parts: AsyncDisposables): Promise<void> {
  const { namespaces } = linux
  if (namespaces.list().includes(NAMESPACE)) namespaces.delete(NAMESPACE)
  const namespace = namespaces.create(NAMESPACE)
  using network = linux.openRtnetlink()
  using beyond = linux.openRtnetlink(namespace)
  const link = network.addLink({ kind: 'veth', name: LINK, mtu: MTU, peer: { name: PEER, mtu: MTU, namespace } })
  const peer = beyond.link(PEER)!
  beyond.changeLink(peer.index, { up: true })
  routeOut(network, link.index, peer.hardwareAddress)
  const stream = await ask(path, 'datagrams')
  const socket = openPacketSocket(namespace, peer.index, (frame) => {
    const datagram = parseFrame(frame)
    if (datagram && stream.writableLength < MOST_WAITING) stream.write(encodeDatagram(datagram))
  })
  const ends = { sourceMac: peer.hardwareAddress, destinationMac: link.hardwareAddress, address: INSIDE }
  const reader = new DatagramReader()
  stream.on('data', (chunk: Buffer) => {
    for (const datagram of reader.read(chunk)) socket.send(answerFrame(datagram, ends))
  })
  parts.use({
    async [Symbol.asyncDispose]() {
      stream.destroy()
      socket[Symbol.dispose]()
      namespace[Symbol.dispose]()
      namespaces.delete(NAMESPACE)
    },
  })
}

const MOST_WAITING = 4 * 1024 * 1024

function routeOut(network: Rtnetlink, link: number, peerAddress: string): void {
  network.changeLink(LOOPBACK_INDEX, { up: true })
  network.addAddress({ link, address: `${INSIDE}/${LINK_PREFIX}` })
  network.changeLink(link, { up: true })
  network.replaceNeighbour({ link, address: OUTSIDE, hardwareAddress: peerAddress })
  network.replaceRoute({ destination: '0.0.0.0/0', gateway: OUTSIDE, link })
}
