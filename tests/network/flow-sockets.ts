/** Servers and clients inside network namespaces, by sockets that were made there. */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { type IPFamily, parseIP } from '../../src/base/ip-address.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LinuxError } from '../../src/linux/system-error.ts'
import { PROTOCOL_NUMBERS, type Protocol } from '../../src/service-proxy/service-port.ts'

export const DOMAINS: Readonly<Record<IPFamily, number>> = { IPv4: 2, IPv6: 10 }
const STREAM = 1
const DATAGRAM = 2
const NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
const EAGAIN = 11
const EINPROGRESS = 115
const POLL_MS = 4
const BACKLOG = 128

export interface Place {
  readonly linux: Linux
  readonly namespace: NetworkNamespace
}

export function socketAddress(ip: string, port: number): Buffer {
  const { family, value } = parseIP(ip)!
  const bytes = Buffer.alloc(family === 'IPv4' ? 16 : 28)
  bytes.writeUInt16LE(DOMAINS[family], 0)
  bytes.writeUInt16BE(port, 2)
  if (family === 'IPv4') bytes.writeUInt32BE(Number(value), 4)
  else Buffer.from(value.toString(16).padStart(32, '0'), 'hex').copy(bytes, 8)
  return bytes
}

/** Throws where the kernel does not know the protocol. */
export function makeSocket({ linux, namespace }: Place, family: IPFamily, protocol: Protocol): number {
  const type = (protocol === 'UDP' ? DATAGRAM : STREAM) | NONBLOCK_CLOEXEC
  const fd = linux.namespaces.inNamespace(namespace, () =>
    linuxCalls().socket(DOMAINS[family], type, PROTOCOL_NUMBERS[protocol]),
  )
  if (fd < 0) throw new LinuxError(-fd, `socket for ${protocol}`)
  return fd
}

/** Says its own name and whom it sees, to whoever asks. */
export async function serve(place: Place, name: string, ip: string, port: number): Promise<() => void> {
  const family = parseIP(ip)!.family
  const bound = (protocol: Protocol) => {
    const fd = makeSocket(place, family, protocol)
    const result = linuxCalls().bind(fd, socketAddress(ip, port))
    if (result < 0) throw new LinuxError(-result, `bind ${ip}`)
    return fd
  }
  const tcp = createServer((connection) => {
    connection.on('error', () => {})
    connection.end(`${name} ${connection.remoteAddress}`)
  })
  await new Promise<void>((resolve) => tcp.listen({ fd: bound('TCP'), backlog: BACKLOG }, resolve))
  const udp = createSocket(family === 'IPv4' ? 'udp4' : 'udp6')
  udp.on('message', (_, from) => udp.send(`${name} ${from.address}`, from.port, from.address))
  await new Promise<void>((resolve) => udp.bind({ fd: bound('UDP') }, resolve))
  return () => {
    tcp.close()
    udp.close()
  }
}

export interface Target {
  /** The client's address, where it has several. */
  readonly source: string
  readonly ip: string
  readonly port: number
  readonly protocol: Protocol
}

/** The answer, or how there was none. */
export type Answer = { readonly name: string; readonly seen: string } | 'reject' | 'drop' | 'unreachable'

const FIRST_PORT = 20_000
const LAST_PORT = 65_535
const EADDRINUSE = 98
let lastPort = FIRST_PORT

/**
 * Gives each client a port that none had lately. With a random one some would take up a flow that the kernel still remembers,
 * and be led where the rules before these led it.
 */
function bindClient(fd: number, source: string): void {
  for (let tries = 0; tries < LAST_PORT - FIRST_PORT; tries++) {
    lastPort = lastPort === LAST_PORT ? FIRST_PORT : lastPort + 1
    const result = linuxCalls().bind(fd, socketAddress(source, lastPort))
    if (result >= 0) return
    if (result !== -EADDRINUSE) throw new LinuxError(-result, `bind ${source}`)
  }
}

export async function ask(place: Place, { source, ip, port, protocol }: Target, patienceMs: number): Promise<Answer> {
  const calls = linuxCalls()
  const fd = makeSocket(place, parseIP(ip)!.family, protocol)
  try {
    bindClient(fd, source)
    const connected = calls.connect(fd, socketAddress(ip, port))
    if (connected < 0 && connected !== -EINPROGRESS) return failure(-connected)
    if (protocol === 'UDP') calls.send(fd, Buffer.from('?'), 1, 0)
    const bytes = Buffer.alloc(256)
    for (let waited = 0; waited < patienceMs; waited += POLL_MS) {
      const length = calls.recv(fd, bytes, 0)
      if (length > 0) {
        const [name, seen] = bytes.toString('utf8', 0, length).split(' ') as [string, string]
        return { name, seen }
      }
      if (length !== -EAGAIN) return failure(-length)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return 'drop'
  } finally {
    calls.close(fd)
  }
}

const ECONNREFUSED = 111
export const failure = (errno: number): Answer => (errno === ECONNREFUSED ? 'reject' : 'unreachable')

export interface ConnectedUdp {
  readonly fd: number
  /** The name in the next answer. */
  answer(patienceMs: number): Promise<string | undefined>
  close(): void
}

/** A client that keeps its port. */
export function connectedUdp(place: Place, { source, ip, port }: Target): ConnectedUdp {
  const calls = linuxCalls()
  const fd = makeSocket(place, parseIP(ip)!.family, 'UDP')
  bindClient(fd, source)
  calls.connect(fd, socketAddress(ip, port))
  return {
    fd,
    async answer(patienceMs) {
      const bytes = Buffer.alloc(256)
      for (let waited = 0; waited < patienceMs; waited += POLL_MS) {
        const length = calls.recv(fd, bytes, 0)
        if (length > 0) return bytes.toString('utf8', 0, length).split(' ')[0]
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
      return undefined
    },
    close: () => void calls.close(fd),
  }
}
