import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ExecSession } from '../../container-runtime/runtime.ts'
import type { PodAccess, PodName } from './pod-access.ts'

/** What a request for an upgraded connection asks for; the protocols themselves know nothing of pods. */
export type StreamRequest =
  | {
      readonly type: 'exec' | 'attach'
      readonly stdin: boolean
      readonly stdout: boolean
      readonly stderr: boolean
      readonly tty: boolean
      /** Starts the command, or attaches; rejects with an `ApiError`. */
      open(signal: AbortSignal): Promise<ExecSession>
    }
  | {
      readonly type: 'portForward'
      /** From the query, where the protocol says them there. */
      readonly ports: readonly number[]
      connect(port: number): Promise<Duplex>
    }

/** Speaks WebSocket or SPDY on a connection that asked for it, and answers what it does not speak. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  stream: StreamRequest,
) => void | Promise<void>

/** `/exec/<namespace>/<pod>[/<uid>]/<container>` and its like; undefined for any other path. */
export function streamRequest(url: URL, access: PodAccess): StreamRequest | undefined {
  const [type, namespace, name, ...rest] = url.pathname.split('/').filter(Boolean).map(decodeURIComponent)
  if (namespace === undefined || name === undefined) return undefined
  const query = url.searchParams
  if (type === 'portForward') {
    const pod = podName(namespace, name, rest[0])
    const ports = query
      .getAll('port')
      .concat(query.getAll('ports'))
      .flatMap((text) => text.split(','))
      .map(Number)
    return { type, ports: ports.filter((port) => port > 0), connect: (port) => access.portForward(pod, port) }
  }
  const container = rest.at(-1)
  if ((type !== 'exec' && type !== 'attach') || container === undefined) return undefined
  const pod = podName(namespace, name, rest.length > 1 ? rest[0] : undefined)
  const flag = (...names: string[]) => names.some((one) => ['true', '1'].includes(query.get(one) ?? ''))
  const streams = {
    stdin: flag('input', 'stdin'),
    stdout: flag('output', 'stdout'),
    stderr: flag('error', 'stderr') && !flag('tty'),
    tty: flag('tty'),
  }
  const command = query.getAll('command')
  const open = (signal: AbortSignal) =>
    type === 'exec'
      ? access.execInContainer(pod, container, { command, ...streams, signal })
      : access.attachToContainer(pod, container, { ...streams, tty: access.hasTerminal(pod, container), signal })
  return { type, ...streams, open }
}

const podName = (namespace: string, name: string, uid: string | undefined): PodName =>
  uid === undefined ? { namespace, name } : { namespace, name, uid }
