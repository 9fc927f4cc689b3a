import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { Node, Pod, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { ApiError, badRequest, serviceUnavailable } from '../../api/meta/api-error.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { isGlobalUnicast, parseIP } from '../../base/ip-address.ts'
import { kubeletAddress } from '../kubelet-connector.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import type { Backend } from './backend.ts'
import { kubeletBackend } from './kubelet-backend.ts'
import { type ConnectRequest, find, mayCreate, type ProxyContext } from './proxy-context.ts'

/** Finds whom `.../proxy` leads to. */
export type Location = (context: ProxyContext, request: ConnectRequest) => Promise<Backend>

interface Target {
  readonly scheme: 'http' | 'https'
  readonly name: string
  readonly port: string
}

const SLICES = storagePrefix({ group: 'discovery.k8s.io', plural: 'endpointslices' })

/** `name`, `name:port` or `scheme:name:port`. */
export function splitTarget(text: string): Target | undefined {
  const parts = text.split(':')
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0], parts[1] ?? '']
  if (parts.length > 3 || !name || !['', 'http', 'https'].includes(scheme ?? '')) return undefined
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: port ?? '' }
}

function targetOf(what: string, { info }: ConnectRequest): Target {
  const target = splitTarget(info.name)
  if (!target) throw badRequest(`invalid ${what} request ${JSON.stringify(info.name)}`)
  return target
}

export const podLocation: Location = async (context, request) => {
  const { scheme, name, port } = targetOf('pod', request)
  const pod = await find<Pod>(context, podKind, request.info.namespace, name)
  const first = pod.spec?.containers.find(({ ports }) => ports?.length)?.ports?.[0]?.containerPort
  const number = port === '' ? (first ?? (scheme === 'https' ? 443 : 80)) : Number(port)
  return endpoint(context, scheme, pod.status?.podIP ?? '', number)
}

export const serviceLocation: Location = async (context, request) => {
  const { scheme, name, port } = targetOf('service', request)
  const { namespace } = request.info
  const { spec } = await find<Service>(context, serviceKind, namespace, name)
  const isNumber = /^\d+$/.test(port)
  const servicePort = spec?.ports?.find((one) => one.port === Number(port))
  if (isNumber && !servicePort)
    throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`)
  const found = await readyEndpoints(context, namespace, name, isNumber ? (servicePort?.name ?? '') : port)
  const chosen = found[Math.floor(context.random.next() * found.length)]
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(request.info.name)}`)
  return endpoint(context, scheme, chosen.host, chosen.port)
}

async function readyEndpoints({ feed }: ProxyContext, namespace: string, service: string, portName: string) {
  const keyPrefix = `${SLICES}${namespace}/`
  const found: { host: string; port: number }[] = []
  for (const cached of (await feed.cache(SLICES)).select({
    id: keyPrefix,
    keyPrefix,
    exactKey: false,
    matches: undefined,
  })) {
    if (cached.labels[LABEL.serviceName] !== service) continue
    const slice = cached.object as unknown as EndpointSlice
    const port = slice.ports?.find((one) => (one.name ?? '') === portName)?.port
    if (port === undefined) continue
    for (const { addresses, conditions } of slice.endpoints ?? [])
      if (conditions?.ready !== false && addresses[0]) found.push({ host: addresses[0], port })
  }
  return found
}

export const nodeLocation: Location = async (context, request) => {
  const { scheme, name, port } = targetOf('node', request)
  // A kubelet runs commands for those who switch protocols.
  if (request.exchange.takeOver) await mayCreate(context, request)
  const node = await find<Node>(context, nodeKind, '', name)
  const address = kubeletAddress(node)
  if (port !== '' && address && Number(port) !== address.port)
    return endpoint(context, scheme, address.host, Number(port))
  const backend = kubeletBackend(context, node)
  if (!backend) throw new ApiError(501, 'NotImplemented', `node ${name} is simulated: it has no kubelet to ask`)
  return backend
}

function endpoint(context: ProxyContext, scheme: 'http' | 'https', host: string, port: number): Backend {
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw badRequest(`invalid port "${port}"`)
  // Only addresses: a name could stand for the API server's own machine by the time it is dialed.
  const ip = parseIP(host)
  if (!ip || !isGlobalUnicast(ip)) throw badRequest('address not allowed')
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    origin: `${scheme}://${authority}`,
    async dial(signal) {
      const socket = await context.dial({ host, port }, signal)
      return scheme === 'https' ? withTls(socket) : socket
    },
  }
}

/** What pods and nodes show is not checked: nobody has given them certificates that could be. */
function withTls(socket: Duplex): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    secure.once('secureConnect', () => resolve(secure))
    secure.once('error', reject)
  })
}
