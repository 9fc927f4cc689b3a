import { connect, constants } from 'node:http2'
import type { Socket } from 'node:net'
import { type Address, type Dial, hostPort } from './connection.ts'

export type ServingStatus = 'UNKNOWN' | 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN'

const STATUSES: readonly ServingStatus[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']
const UNIMPLEMENTED = '12'
const PATH = '/grpc.health.v1.Health/Check'

/** grpc.health.v1.Health/Check: one small message each way, so that no gRPC library is needed for it. */
export async function grpcHealth(
  address: Address,
  service: string,
  dial: Dial,
  signal: AbortSignal,
  userAgent: string,
): Promise<ServingStatus> {
  const socket = await dial(address, signal)
  try {
    return await check(socket, address, service, signal, userAgent)
  } finally {
    socket.destroy()
  }
}

function check(socket: Socket, address: Address, service: string, signal: AbortSignal, userAgent: string) {
  return new Promise<ServingStatus>((resolve, reject) => {
    const session = connect(`http://${hostPort(address)}`, { createConnection: () => socket })
    const fail = (error: Error) => {
      session.destroy()
      reject(error)
    }
    session.once('error', fail)
    signal.addEventListener('abort', () => fail(new Error('context deadline exceeded')), { once: true })
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: PATH,
      'content-type': 'application/grpc',
      'user-agent': userAgent,
      te: 'trailers',
    })
    const chunks: Buffer[] = []
    let grpcStatus: string | undefined
    const learn = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] !== undefined) grpcStatus = String(headers['grpc-status'])
    }
    stream.on('response', learn)
    stream.on('trailers', learn)
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('error', fail)
    stream.once('end', () => {
      session.close()
      if (grpcStatus === UNIMPLEMENTED) reject(new Error('this server does not implement the grpc health protocol'))
      else if (grpcStatus !== undefined && grpcStatus !== '0') reject(new Error(`rpc error: code = ${grpcStatus}`))
      else resolve(statusOf(Buffer.concat(chunks)))
    })
    stream.end(requestFrame(service))
  })
}

/** A gRPC frame: not compressed, the length, then field 1 as a string. */
function requestFrame(service: string): Buffer {
  const name = Buffer.from(service)
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name])
  const header = Buffer.alloc(5)
  header.writeUInt32BE(message.length, 1)
  return Buffer.concat([header, message])
}

/** Field 1 is the status; a message without it says UNKNOWN. */
function statusOf(frame: Buffer): ServingStatus {
  const message = frame.subarray(5)
  return (message[0] === 0x08 && STATUSES[message[1] ?? 0]) || 'UNKNOWN'
}
