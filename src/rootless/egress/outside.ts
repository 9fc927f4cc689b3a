/**
 * The outer side: an ordinary process of the user, which opens sockets on behalf of the inner side. Only this user can open
 * the socket file, and this user may connect anywhere anyway.
 *
 *     tcp <host> <port>    "ok" or "no <reason>"; then the bytes of the connection, both ways
 *     datagrams            frames, both ways
 *     lifeline             nothing; its end tells the inner side that this process has gone
 */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { parseIP } from '../../base/ip-address.ts'
import { serveSocketFile } from '../../base/socket-file.ts'
import { DatagramReader, encodeDatagram } from './datagram.ts'
import { joinSockets } from './join-sockets.ts'
import { NAMESERVER, nameservers } from './link-addresses.ts'
import { OutsideDatagrams } from './outside-datagrams.ts'
import { readLine } from './read-line.ts'

export const serveOutside = (path: string, clock: Clock) =>
  serveSocketFile(path, (socket) => void serve(socket, clock).catch(() => socket.destroy()))

async function serve(socket: Socket, clock: Clock): Promise<void> {
  const [verb, host = '', port = ''] = (await readLine(socket)).split(' ')
  if (verb === 'tcp') dial(socket, host, Number(port))
  else if (verb === 'datagrams') carryDatagrams(socket, clock)
  else if (verb === 'lifeline') socket.on('end', () => socket.end()).resume()
  else socket.destroy()
}

function dial(socket: Socket, host: string, port: number): void {
  const place = reachable(host, port)
  if (!place) {
    socket.end('no EACCES\n')
    return
  }
  const other = connect({ ...place, allowHalfOpen: true })
  const refused = (error: NodeJS.ErrnoException) => socket.end(`no ${error.code}\n`)
  socket.once('close', () => other.destroy())
  other.once('error', refused)
  other.once('connect', () => {
    other.off('error', refused)
    socket.write('ok\n')
    joinSockets(socket, other)
  })
}

function carryDatagrams(socket: Socket, clock: Clock): void {
  const reader = new DatagramReader()
  const datagrams = new OutsideDatagrams(clock, (datagram) => {
    // Datagrams may be lost: drop what the inner side is too slow for.
    if (socket.writableLength < MOST_WAITING) socket.write(encodeDatagram(datagram))
  })
  socket.on('data', (chunk: Buffer) => {
    for (const datagram of reader.read(chunk)) {
      const place = reachable(datagram.host, datagram.port)
      if (place) datagrams.send(datagram, place)
    }
  })
  socket.on('end', () => socket.end())
  socket.on('close', () => datagrams[Symbol.dispose]())
}

const MOST_WAITING = 4 * 1024 * 1024

/** Where a connection goes: `NAMESERVER` means the machine's name server; the machine's loopback cannot be reached. */
export function reachable(host: string, port: number): { readonly host: string; readonly port: number } | undefined {
  if (host === NAMESERVER) {
    const [server] = port === DNS_PORT ? nameservers() : []
    return server === undefined ? undefined : { host: server, port }
  }
  const ip = parseIP(host)
  const first = Number(host.split('.')[0])
  if (ip?.family !== 'IPv4' || first === 0 || first === 127 || first >= 224) return undefined
  return { host, port }
}

const DNS_PORT = 53
