import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError, badRequest, internalError, methodNotSupported } from '../../api/meta/api-error.ts'
import { kubeletBackend } from './kubelet-backend.ts'
import { askedContainer } from './pod-container.ts'
import { type ConnectHandler, type ConnectRequest, find, mayCreate, type ProxyContext } from './proxy-context.ts'
import { relayUpgrade } from './relay-upgrade.ts'

const PODS = { group: '', resource: 'pods' }

export const execPod: ConnectHandler = (context, request) =>
  stream(context, request, (pod) => `/exec/${place(pod, request)}?${commandQuery(request.query)}`)

export const attachPod: ConnectHandler = (context, request) =>
  stream(context, request, (pod) => `/attach/${place(pod, request)}?${commandQuery(request.query)}`)

export const portForwardPod: ConnectHandler = (context, request) =>
  stream(context, request, ({ metadata }) => {
    const ports = request.query.getAll('ports').concat(request.query.getAll('port'))
    const query = new URLSearchParams(ports.map((port): [string, string] => ['port', port]))
    return `/portForward/${metadata.namespace}/${metadata.name}?${query}`
  })

async function stream(context: ProxyContext, request: ConnectRequest, pathOf: (pod: Pod) => string): Promise<void> {
  const { exchange, info } = request
  if (exchange.method !== 'GET' && exchange.method !== 'POST') throw methodNotSupported(PODS, exchange.method)
  await mayCreate(context, request)
  const pod = await find<Pod>(context, podKind, info.namespace, info.name)
  const path = pathOf(pod)
  const nodeName = pod.spec?.nodeName
  if (!nodeName) throw badRequest(`pod ${info.name} does not have a host assigned`)
  const node = await find<Node>(context, nodeKind, '', nodeName)
  if (!exchange.takeOver) throw badRequest('Upgrade request required')
  const backend = kubeletBackend(context, node)
  if (!backend) throw simulated(info.name, nodeName)
  try {
    await relayUpgrade(exchange, backend, path, context.clock)
  } catch (error) {
    throw error instanceof ApiError ? error : internalError(`error dialing backend: ${messageOf(error)}`)
  }
}

function place(pod: Pod, { query }: ConnectRequest): string {
  const container = askedContainer(pod, query.get('container') ?? '')
  return `${pod.metadata.namespace}/${pod.metadata.name}/${container}`
}

/** The kubelet has words of its own for the streams. */
function commandQuery(query: URLSearchParams): URLSearchParams {
  const isSet = (name: string) => query.has(name) && query.get(name) !== 'false' && query.get(name) !== '0'
  const asked = new URLSearchParams()
  if (isSet('stdin')) asked.set('input', '1')
  if (isSet('stdout')) asked.set('output', '1')
  if (isSet('stderr')) asked.set('error', '1')
  if (isSet('tty')) asked.set('tty', '1')
  for (const word of query.getAll('command')) asked.append('command', word)
  return asked
}

const simulated = (pod: string, node: string) =>
  new ApiError(501, 'NotImplemented', `pod ${pod} is on the simulated node ${node}: nothing runs there to connect to`)

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
