import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { parse } from 'yaml'
import { type EventStream, eventStream } from './event-stream.ts'
import { type Json, listAt, textAt } from './json.ts'

/** The tests' own way to the API: nothing of ours in between that could hide a fault. */
export interface ApiAccess {
  readonly server: string
  readonly credentials: Credentials
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  create(path: string, body: unknown): Promise<Answer>
  update(path: string, body: unknown): Promise<Answer>
  patch(path: string, body: unknown, type?: PatchType): Promise<Answer>
  delete(path: string, body?: unknown): Promise<Answer>
  watch(path: string, headers?: Record<string, string>): Promise<EventStream>
  close(): void
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface Credentials {
  ca: string
  cert: string
  key: string
}

export interface RequestOptions {
  body?: string | Buffer
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  headers: Record<string, string>
  bytes: Buffer
  text: string
  /** The body, parsed. */
  object: Json
}

const PATCH_TYPES: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

const JSON_TYPE = 'application/json'

export function readCredentials(kubeconfig: string): Credentials & { server: string } {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as unknown
  const named = (list: string, name: string) => listAt(config, list).find((entry) => entry.name === name)
  const context = named('contexts', textAt(config, 'current-context'))
  const cluster = named('clusters', textAt(context, 'context.cluster'))
  const user = named('users', textAt(context, 'context.user'))
  const decode = (text: string) => Buffer.from(text, 'base64').toString()
  return {
    server: textAt(cluster, 'cluster.server'),
    ca: decode(textAt(cluster, 'cluster.certificate-authority-data')),
    cert: decode(textAt(user, 'user.client-certificate-data')),
    key: decode(textAt(user, 'user.client-key-data')),
  }
}

export function connect(kubeconfig: string): ApiAccess {
  const { server, ...credentials } = readCredentials(kubeconfig)
  let session: ClientHttp2Session | undefined
  const open = () => {
    if (session && !session.closed && !session.destroyed) return session
    session = connectHttp2(server, credentials)
    // Failures show in the requests; without a listener they would end the test process.
    session.on('error', () => {})
    return session
  }
  const send = (method: string, path: string, { body, headers }: RequestOptions = {}) => {
    const endStream = body === undefined
    const stream = open().request({ accept: JSON_TYPE, ...headers, ':method': method, ':path': path }, { endStream })
    if (!endStream) stream.end(body)
    return stream
  }
  const request = async (method: string, path: string, options?: RequestOptions) =>
    readAnswer(send(method, path, options))
  const write = (method: string, path: string, body: unknown, type = JSON_TYPE) =>
    request(method, path, { body: JSON.stringify(body), headers: { 'content-type': type } })
  return {
    server,
    credentials,
    request,
    get: (path, headers = {}) => request('GET', path, { headers }),
    create: (path, body) => write('POST', path, body),
    update: (path, body) => write('PUT', path, body),
    patch: (path, body, type = 'merge') => write('PATCH', path, body, PATCH_TYPES[type]),
    delete: (path, body) => (body === undefined ? request('DELETE', path) : write('DELETE', path, body)),
    watch: (path, headers = {}) => eventStream(send('GET', path, { headers })),
    close: () => session?.close(),
  }
}

function readAnswer(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let headers: Record<string, string> = {}
    stream.on('response', (received) => {
      headers = Object.fromEntries(Object.entries(received).map(([name, value]) => [name, String(value)]))
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('end', () => resolve(answerOf(Number(headers[':status']), headers, Buffer.concat(chunks))))
  })
}

export function answerOf(status: number, headers: Record<string, string>, bytes: Buffer): Answer {
  return {
    status,
    headers,
    bytes,
    get text() {
      return bytes.toString()
    },
    get object() {
      return JSON.parse(bytes.toString()) as Json
    },
  }
}
