import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Answer, type ApiAccess, answerOf, connect, type RequestOptions } from '../tools/api.ts'

/** A control plane in a process of its own, which tells how long one piece of work kept all others waiting. */
export interface WatchedServer extends AsyncDisposable {
  readonly api: ApiAccess
  /** The CPU time, in milliseconds, of the longest piece of work since this was asked last. */
  longestWork(): Promise<number>
  /** A request with a token, over a connection of its own. */
  requestAs(token: string, method: string, path: string, options: RequestOptions): Promise<Answer>
}

export async function startWatchedServer(): Promise<WatchedServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-test-'))
  const kubeconfig = path.join(folder, 'config')
  const library = path.resolve(import.meta.dirname, '..', '..', 'dist', 'cluster', 'index.js')
  const child = fork(path.join(import.meta.dirname, 'watched-server.mjs'), [library, kubeconfig])
  const ended = once(child, 'exit')
  const ready = await Promise.race([once(child, 'message'), ended.then(() => undefined)])
  if (!ready) throw new Error('the API server ended before it was ready')
  const api = connect(kubeconfig)
  return {
    api,
    async longestWork() {
      const reply = once(child, 'message')
      child.send('longest')
      return Number((await reply)[0])
    },
    requestAs: (token, method, url, options) => requestAs(api, token, method, url, options),
    async [Symbol.asyncDispose]() {
      api.close()
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function requestAs(
  { server, credentials }: ApiAccess,
  token: string,
  method: string,
  url: string,
  { body, headers }: RequestOptions,
): Promise<Answer> {
  const session = connectHttp2(server, { ca: credentials.ca, maxSendHeaderBlockLength: 1024 * 1024 })
  try {
    const authorization = `Bearer ${token}`
    const stream = session.request({ ...headers, authorization, ':method': method, ':path': url }, { endStream: !body })
    // The server may answer, and stop reading, before it has the whole body.
    stream.on('error', () => {})
    if (body) stream.end(body)
    const [received] = (await once(stream, 'response')) as [Record<string, string>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return answerOf(Number(received[':status']), received, Buffer.concat(chunks))
  } finally {
    session.destroy()
  }
}
