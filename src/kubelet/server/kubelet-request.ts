import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { ApiError, badRequest } from '../../api/meta/api-error.ts'
import { certificateExpiry } from '../../base/certificate-expiry.ts'
import { refusalOf } from '../../base/http-request.ts'

/** Who asks, by the certificate they showed. */
export interface KubeletUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** Which part of `nodes` a path belongs to, for whoever decides. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  stats: 'stats',
  metrics: 'metrics',
  containerLogs: 'log',
  logs: 'log',
  pods: 'pods',
  healthz: 'healthz',
  configz: 'configz',
}

/** They run something in a pod, or talk to it. */
const STREAMS = new Set(['exec', 'attach', 'portForward', 'run'])

/** What is asked for, read once for all who decide by it. */
export function targetOf(request: IncomingMessage): { url: URL; first: string; rest: readonly string[] } {
  const refusal = refusalOf(request)
  if (refusal) throw new ApiError(refusal.status, 'BadRequest', refusal.message)
  try {
    // Not relative to a base: two slashes would be the name of another host.
    const url = new URL(`https://kubelet${request.url}`)
    const [first = '', ...rest] = url.pathname.split('/').filter(Boolean).map(decodeURIComponent)
    return { url, first, rest }
  } catch {
    throw badRequest('the path is not valid')
  }
}

/** Asked at each request: a connection may stay open for longer than its certificate is valid. */
export function userOf(request: IncomingMessage, now: number): KubeletUser | undefined {
  const socket = request.socket as TLSSocket
  if (!socket.authorized || now >= certificateExpiry(socket)) return undefined
  const { subject } = socket.getPeerCertificate()
  if (!subject?.CN) return undefined
  const organizations = subject.O as string | string[] | undefined
  return { name: subject.CN, groups: organizations === undefined ? [] : [organizations].flat() }
}

/** What right a request needs on the node. WebSocket clients begin with GET, but the right to read is not the right to run. */
export function rightFor(method: string | undefined, first: string): { verb: 'get' | 'create'; subresource: string } {
  const verb = method === 'POST' || STREAMS.has(first) ? 'create' : 'get'
  return { verb, subresource: SUBRESOURCES[first] ?? 'proxy' }
}
