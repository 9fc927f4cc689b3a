import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { PeerJob } from './peer-job.ts'

/** The least a server in Node can do: ready bytes by path, over TLS with client certificates. */

const job = JSON.parse(await text(process.stdin)) as PeerJob
const bodies = new Map(Object.entries(job.bodies).map(([path, body]) => [path, Buffer.from(body, 'base64')]))

const server = createSecureServer({ ...job.tls, requestCert: true, rejectUnauthorized: false })
server.on('stream', (stream, headers) => {
  const body = bodies.get(headers[':path'] as string)
  stream.respond({
    ':status': body ? 200 : 404,
    'content-type': 'application/json',
    'content-length': body?.length ?? 0,
  })
  stream.end(body)
  stream.on('error', () => {})
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
