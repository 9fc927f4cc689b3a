import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Kind } from '../../api/kind.ts'
import { aborted, deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { nodeLocation, podLocation, serviceLocation } from './locations.ts'
import { podLog } from './pod-log.ts'
import { attachPod, execPod, portForwardPod } from './pod-streams.ts'
import type { ConnectHandler, ConnectRequest, ProxyContext } from './proxy-context.ts'
import { reverseProxy } from './reverse-proxy.ts'

/** Requests that are handed on to nodes, pods and services; Kubernetes' verb for them is CONNECT. */
const HANDLERS: Readonly<Record<string, ConnectHandler | undefined>> = {
  'pods/exec': execPod,
  'pods/attach': attachPod,
  'pods/portforward': portForwardPod,
  'pods/log': podLog,
  'pods/proxy': reverseProxy(podLocation),
  'services/proxy': reverseProxy(serviceLocation),
  'nodes/proxy': reverseProxy(nodeLocation),
}

const DIAL_TIMEOUT_MS = 30_000

export type DialEndpoint = ProxyContext['dial']

export class Connections {
  readonly #context: ProxyContext

  constructor(context: ProxyContext) {
    this.#context = context
  }

  /** Undefined if such requests are served here. */
  handlerOf(kind: Kind, subresource: string): ((request: ConnectRequest) => Promise<void>) | undefined {
    if (kind.group !== '' || subresource === '') return undefined
    const handler = HANDLERS[`${kind.plural}/${subresource}`]
    if (!handler) return undefined
    // Reading a log connects nobody.
    if (subresource === 'log') return (request) => handler(this.#context, request)
    return async (request) => {
      const { info, user, query, annotate } = request
      const { namespace, name } = info
      await this.#context.admit?.({ kind, subresource, namespace, name, user, query, annotate })
      return handler(this.#context, request)
    }
  }
}

/** Straight through the network of this machine. */
export const dialDirectly =
  (clock: Clock): DialEndpoint =>
  ({ host, port }, parent) =>
    new Promise<Duplex>((resolve, reject) => {
      const limit = deadline(clock, DIAL_TIMEOUT_MS, parent)
      const socket = connect({ host, port, noDelay: true })
      const done = () => limit[Symbol.dispose]()
      void aborted(limit.signal).then(() => socket.destroy(new Error(`dial tcp ${host}:${port}: i/o timeout`)))
      socket.once('connect', () => {
        done()
        resolve(socket)
      })
      socket.on('error', (error) => {
        done()
        reject(error)
      })
    })
