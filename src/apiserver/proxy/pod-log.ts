import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError, badRequest, internalError, invalidObject, methodNotSupported } from '../../api/meta/api-error.ts'
import type { FieldError } from '../../api/meta/field-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { acceptByteStream } from '../../client/byte-stream.ts'
import { Query } from '../request/query.ts'
import { askBackend } from './backend.ts'
import { kubeletBackend } from './kubelet-backend.ts'
import { askedContainer } from './pod-container.ts'
import { type ConnectHandler, find } from './proxy-context.ts'
import type { BackendAnswer } from './send-request.ts'

const PODS = { group: '', resource: 'pods' }
const FLAGS = ['follow', 'previous', 'timestamps'] as const
const NUMBERS = ['sinceSeconds', 'tailLines', 'limitBytes'] as const

/** `kubectl logs`: what a container wrote, as the kubelet of its node reads it. */
export const podLog: ConnectHandler = async (context, { exchange, info, query }) => {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw methodNotSupported(PODS, exchange.method)
  const pod = await find<Pod>(context, podKind, info.namespace, info.name)
  const asked = logQuery(info.name, query)
  const container = askedContainer(pod, query.get('container') ?? '')
  const backend = await backendOf(pod)
  const headers = { 'content-type': 'text/plain', 'cache-control': 'no-cache, private' }
  if (!backend) {
    ;(await opened())?.end()
    return
  }
  const path = `/containerLogs/${info.namespace}/${info.name}/${container}?${asked}`
  const answer = await ask(path)
  if (answer.response.statusCode !== 200) throw await refusal(answer, info.name)
  const out = await opened()
  if (!out) answer.response.destroy()
  else answer.response.on('error', () => out.destroy()).pipe(out)

  /** Where the log goes: the answer, or a WebSocket if the client came with one. */
  async function opened(): Promise<Writable | undefined> {
    const isWebSocket = exchange.headers.upgrade?.toLowerCase() === 'websocket'
    return isWebSocket && exchange.takeOver ? acceptByteStream(exchange.takeOver()) : exchange.relay(200, headers)
  }

  async function backendOf({ spec }: Pod) {
    if (!spec?.nodeName) return undefined
    const node = await find<Node>(context, nodeKind, '', spec.nodeName)
    return kubeletBackend(context, node, query.get('insecureSkipTLSVerifyBackend') === 'true')
  }

  async function ask(asking: string): Promise<BackendAnswer> {
    try {
      const host = new URL(backend!.origin).host
      return await askBackend(backend!, { method: 'GET', path: asking, headers: { host } }, exchange.signal)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw internalError(`Get ${JSON.stringify(backend!.origin + asking)}: ${message}`)
    }
  }
}

/** What the kubelet is asked, after checking what the client asked. */
function logQuery(name: string, query: URLSearchParams): URLSearchParams {
  const given = Query.parse(query.toString())
  const asked = new URLSearchParams()
  for (const flag of FLAGS) if (given.flag(flag)) asked.set(flag, 'true')
  for (const number of NUMBERS) {
    const value = given.integer(number)
    if (value !== undefined) asked.set(number, String(value))
  }
  const sinceTime = given.get('sinceTime')
  if (sinceTime !== '') {
    if (!Number.isFinite(parseTime(sinceTime) ?? Number.NaN))
      throw badRequest(`parsing time ${JSON.stringify(sinceTime)} as "2006-01-02T15:04:05Z07:00" failed`)
    asked.set('sinceTime', sinceTime)
  }
  const errors = logOptionErrors(asked)
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, name, errors)
  return asked
}

function logOptionErrors(asked: URLSearchParams): FieldError[] {
  const errors: FieldError[] = []
  const atLeast = (field: string, least: number, rule: string) => {
    const value = asked.get(field)
    if (value !== null && Number(value) < least)
      errors.push({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${rule}` })
  }
  atLeast('tailLines', 0, 'must be greater than or equal to 0')
  atLeast('limitBytes', 1, 'must be greater than 0')
  if (asked.has('sinceSeconds') && asked.has('sinceTime')) {
    const message = 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified'
    errors.push({ field: '', reason: 'FieldValueForbidden', message })
  } else atLeast('sinceSeconds', 1, 'must be greater than 0')
  return errors
}

/** More than a sentence is not read. */
const MAX_MESSAGE_BYTES = 16 * 1024

async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > MAX_MESSAGE_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_MESSAGE_BYTES)
}

/** The kubelet answers with a sentence; the client wants a Status. */
async function refusal({ response }: BackendAnswer, name: string): Promise<ApiError> {
  const message = (await beginningOf(response)).trim()
  const code = response.statusCode ?? 500
  if (code === 400) return badRequest(message)
  if (code === 500) return internalError(message)
  const details = { name, kind: 'pods/log' }
  if (code === 404)
    return new ApiError(
      404,
      'NotFound',
      `the server could not find the requested resource ( pods/log ${name})`,
      details,
    )
  return new ApiError(code, 'Unknown', message || `the kubelet answered with ${code}`, details)
}
