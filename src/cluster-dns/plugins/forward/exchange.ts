/** One packet to another server and what comes back, by a socket of its own. */
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'

export interface UpstreamAddress {
  readonly host: string
  readonly port: number
}

/** Answers how to give up. `received` may be called several times: anybody can send to a socket. */
export type Exchange = (
  address: UpstreamAddress,
  packet: Buffer,
  received: (bytes: Buffer) => void,
  failed: (error: Error) => void,
) => () => void

export const askByUdp: Exchange = ({ host, port }, packet, received, failed) => {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  let isClosed = false
  socket.on('error', failed)
  socket.connect(port, host, (error?: Error) => {
    if (error) failed(error)
    if (error || isClosed) return
    // From now on the kernel takes packets from this server alone.
    socket.on('message', received)
    socket.send(packet)
  })
  return () => {
    if (isClosed) return
    isClosed = true
    socket.close()
  }
}

export const askByTcp: Exchange = ({ host, port }, packet, received, failed) => {
  const socket = connect({ host, port })
  let pending = Buffer.alloc(0)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(packet.length)
  socket.on('error', failed)
  socket.on('end', () => failed(new Error(`${host} closed the connection`)))
  socket.on('connect', () => socket.write(Buffer.concat([length, packet])))
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    if (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      received(pending.subarray(2, 2 + pending.readUInt16BE(0)))
    }
  })
  return () => socket.destroy()
}
