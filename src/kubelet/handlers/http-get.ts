import { request } from 'node:http'
import type { Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import type { Container, HTTPGetAction } from '../../api/generated/core-v1.ts'
import { type Address, type Dial, hostPort } from './connection.ts'

export interface HttpReply {
  readonly status: number
  readonly body: string
  /** It sent us to another host, where we do not go. */
  readonly leftHost: boolean
}

export interface HttpTarget {
  readonly scheme: 'http' | 'https'
  readonly address: Address
  readonly path: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

const MAX_BODY = 10 * 1024
const MAX_REDIRECTS = 10

export function httpTarget(action: HTTPGetAction, container: Container, podIP: string): HttpTarget {
  return {
    scheme: action.scheme?.toUpperCase() === 'HTTPS' ? 'https' : 'http',
    address: { host: action.host || podIP, port: portOf(action.port, container) },
    path: action.path?.startsWith('/') ? action.path : `/${action.path ?? ''}`,
    headers: action.httpHeaders ?? [],
  }
}

/** A port by its number, or by the name the container gave it. */
export function portOf(port: number | string, container: Container): number {
  if (typeof port === 'number') return port
  const named = container.ports?.find(({ name }) => name === port)
  const number = named ? named.containerPort : Number(port)
  if (!Number.isInteger(number) || number < 1 || number > 65535) throw new Error(`couldn't find port: ${port} in pod`)
  return number
}

export const urlOf = ({ scheme, address, path }: HttpTarget) => `${scheme}://${hostPort(address)}${path}`

/** GET, following redirects on the same host. Fails with a text that names the URL. */
export async function httpGet(
  target: HttpTarget,
  dial: Dial,
  signal: AbortSignal,
  userAgent: string,
): Promise<HttpReply> {
  let current = target
  try {
    for (let i = 0; i <= MAX_REDIRECTS; i++) {
      const reply = await exchange(current, dial, signal, userAgent)
      const next = redirectOf(current, reply)
      if (next === undefined) return { status: reply.status, body: reply.body, leftHost: false }
      if (next === 'elsewhere') return { status: reply.status, body: reply.body, leftHost: true }
      current = next
    }
  } catch (error) {
    const reason = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : (error as Error).message
    throw new Error(`Get "${urlOf(current)}": ${reason}`)
  }
  throw new Error(`Get "${urlOf(current)}": stopped after ${MAX_REDIRECTS} redirects`)
}

interface Exchange {
  readonly status: number
  readonly body: string
  readonly location: string | undefined
}

async function exchange(target: HttpTarget, dial: Dial, signal: AbortSignal, userAgent: string): Promise<Exchange> {
  const plain = await dial(target.address, signal)
  const socket = target.scheme === 'https' ? await secured(plain, signal) : plain
  try {
    return await send(target, socket, signal, userAgent)
  } finally {
    socket.destroy()
  }
}

/** Pods' certificates are their own business: a probe asks whether they answer. */
function secured(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = tlsConnect({ socket, rejectUnauthorized: false })
    const onAbort = () => secure.destroy(new Error('timeout'))
    signal.addEventListener('abort', onAbort, { once: true })
    secure.once('secureConnect', () => {
      signal.removeEventListener('abort', onAbort)
      resolve(secure)
    })
    secure.once('error', reject)
  })
}

function send(target: HttpTarget, socket: Socket, signal: AbortSignal, userAgent: string): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => socket,
      path: target.path,
      method: 'GET',
      headers: headersOf(target, userAgent),
      signal,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = []
      let size = 0
      const finish = () =>
        resolve({
          status: incoming.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8', 0, MAX_BODY),
          location: incoming.headers.location,
        })
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= MAX_BODY) finish()
      })
      incoming.once('end', finish)
      incoming.once('error', reject)
    })
    outgoing.end()
  })
}

function headersOf({ address, headers }: HttpTarget, userAgent: string): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {
    Host: hostPort(address),
    'User-Agent': userAgent,
    Accept: '*/*',
    Connection: 'close',
  }
  for (const { name, value } of headers) {
    const known = Object.keys(result).find((one) => one.toLowerCase() === name.toLowerCase())
    // An empty value takes a usual header away.
    if (known && value === '') delete result[known]
    else result[known ?? name] = value
  }
  return result
}

function redirectOf(target: HttpTarget, reply: Exchange): HttpTarget | 'elsewhere' | undefined {
  if (reply.status < 300 || reply.status >= 400 || reply.location === undefined) return undefined
  const url = new URL(reply.location, urlOf(target))
  if (url.hostname.replace(/^\[|\]$/g, '') !== target.address.host) return 'elsewhere'
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const port = Number(url.port || (scheme === 'https' ? 443 : 80))
  return {
    scheme,
    address: { host: target.address.host, port },
    path: url.pathname + url.search,
    headers: target.headers,
  }
}
