import { badRequest } from '../../../api/meta/api-error.ts'
import type { CommandStreamOptions } from '../../../client/remote-command.ts'

/** What a path of the kubelet's server asks for. */
export type StreamPath = CommandPath | PortForwardPath

export interface PodTarget {
  readonly namespace: string
  readonly pod: string
  /** Empty when the client does not say. */
  readonly uid: string
}

export interface ContainerTarget extends PodTarget {
  readonly container: string
}

export interface CommandPath {
  readonly type: 'exec' | 'attach'
  readonly target: ContainerTarget
  readonly command: readonly string[]
  readonly streams: CommandStreamOptions
}

export interface PortForwardPath {
  readonly type: 'portForward'
  readonly target: PodTarget
  readonly ports: readonly number[]
}

/** `/exec/<namespace>/<pod>[/<uid>]/<container>`, `/attach/...`, `/portForward/<namespace>/<pod>[/<uid>]`. */
export function parseStreamPath(url: string): StreamPath | undefined {
  const [path = '', query = ''] = url.split('?', 2)
  const [, type, ...segments] = path.split('/').map(decodeURIComponent)
  const parameters = new URLSearchParams(query)
  if (type === 'portForward') {
    const [namespace, pod, uid = '', ...more] = segments
    if (!namespace || !pod || more.length > 0) return undefined
    return { type, target: { namespace, pod, uid }, ports: portsOf(parameters) }
  }
  if (type !== 'exec' && type !== 'attach') return undefined
  const [namespace, pod, ...rest] = segments
  const container = rest.at(-1)
  if (!namespace || !pod || !container || rest.length > 2) return undefined
  const target = { namespace, pod, uid: rest.length === 2 ? rest[0]! : '', container }
  return { type, target, command: parameters.getAll('command'), streams: streamsOf(parameters) }
}

/** The kubelet's own words for the streams differ from those of the API. */
function streamsOf(parameters: URLSearchParams): CommandStreamOptions {
  const has = (name: string) => parameters.get(name) === '1' || parameters.get(name) === 'true'
  const tty = has('tty')
  const streams = { stdin: has('input'), stdout: has('output'), stderr: has('error') && !tty, tty }
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr')
  return streams
}

function portsOf(parameters: URLSearchParams): number[] {
  return parameters.getAll('port').flatMap((text) =>
    text.split(',').map((one) => {
      const port = Number(one)
      if (!Number.isInteger(port) || port < 1 || port > 65535)
        throw badRequest(`unable to parse ${JSON.stringify(one)} as a port`)
      return port
    }),
  )
}
