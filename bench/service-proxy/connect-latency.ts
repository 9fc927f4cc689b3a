/** How long the first packet of a connection takes: connect() on one machine, in a namespace of its own. */
import { createServer, type Server } from 'node:net'
import { linuxCalls } from '../../src/linux/ffi.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import { checked } from '../../src/linux/system-error.ts'
import { median } from '../measure.ts'
import { endpointsAt, TARGET_PORT } from './cluster-services.ts'

const AF_INET = 2
const SOCK_STREAM = 1
const BACKLOG = 4096
const SOL_SOCKET = 1
const SO_SNDTIMEO = 21
/** Of a connection that nobody refuses: a tenth of a second, as a timeval. */
const PATIENCE = Buffer.alloc(16)
PATIENCE.writeUInt32LE(100_000, 8)
const CONNECTIONS = 100
/** A pod that is no endpoint: its address comes first, so it is the source of what is sent to Services. */
const CLIENT = '10.200.0.1'

function socketAddress(ip: string, port: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes[0] = AF_INET
  bytes.writeUInt16BE(port, 2)
  bytes.set(ip.split('.').map(Number), 4)
  return bytes
}

export interface Listening extends Disposable {
  /** The median of some connections, in microseconds. */
  connect(ip: string, port: number): Promise<number>
  /** Whether a connection is taken, or refused, at once. */
  answers(ip: string, port: number): boolean
}

/** The endpoints of service 0 answer. */
export async function listenAtEndpoints(linux: Linux, namespace: NetworkNamespace): Promise<Listening> {
  const network = linux.openRtnetlink(namespace)
  network.changeLink(LOOPBACK_INDEX, { up: true })
  network.addRoute({ destination: '10.96.0.0/12', link: LOOPBACK_INDEX })
  network.addAddress({ link: LOOPBACK_INDEX, address: `${CLIENT}/32` })
  const servers: Server[] = []
  let accepted = 0
  let opened = 0
  const calls = linuxCalls()
  const socket = () => linux.namespaces.inNamespace(namespace, () => calls.socket(AF_INET, SOCK_STREAM, 0))
  for (const ip of endpointsAt(0)) {
    network.addAddress({ link: LOOPBACK_INDEX, address: `${ip}/32` })
    const fd = socket()
    checked(calls.bind(fd, socketAddress(ip, TARGET_PORT)), 'bind')
    const server = createServer((connection) => {
      accepted++
      connection.on('error', () => {}).destroy()
    })
    await new Promise<void>((resolve) => server.listen({ fd, backlog: BACKLOG }, resolve))
    servers.push(server)
  }
  network[Symbol.dispose]()
  return {
    async connect(ip, port) {
      const address = socketAddress(ip, port)
      const times: number[] = []
      for (let i = 0; i < CONNECTIONS; i++) {
        const fd = socket()
        const start = process.hrtime.bigint()
        checked(calls.connect(fd, address), `connect ${ip}`)
        times.push(Number(process.hrtime.bigint() - start) / 1000)
        calls.close(fd)
      }
      opened += CONNECTIONS
      // connect() blocks this thread: the servers take their connections in between.
      while (accepted < opened) await new Promise((resolve) => setTimeout(resolve, 1))
      return median(times)
    },
    answers(ip, port) {
      const fd = socket()
      checked(calls.setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, PATIENCE), 'setsockopt')
      const isTaken = calls.connect(fd, socketAddress(ip, port)) === 0
      calls.close(fd)
      if (isTaken) opened++
      return isTaken
    },
    [Symbol.dispose]: () => {
      for (const server of servers) server.close()
    },
  }
}
