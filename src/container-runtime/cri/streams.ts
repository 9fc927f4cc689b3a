import { type Duplex, Readable } from 'node:stream'
import { dialPortForward } from '../../client/port-forward.ts'
import { dialRemoteCommand } from '../../client/remote-command.ts'
import { type AttachOptions, type ExecOptions, type ExecSession, RuntimeError } from '../runtime.ts'
import type { Connection } from './connection.ts'
import { CONTAINER_STATES } from './messages/container.ts'
import { METHOD } from './methods.ts'

const KILLED = 137

/** Commands and connections: CRI gives a URL, and SPDY/3.1 is what every runtime speaks there. */
export class CriStreams {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async exec(id: string, options: ExecOptions): Promise<ExecSession> {
    const { command, stdin = false, stdout = false, stderr = false, tty = false } = options
    const isStreamed = stdin || tty || ((stdout || stderr) && !options.captured)
    if (!isStreamed) return this.#captured(id, options)
    const wanted = { stdin, stdout, stderr: stderr && !tty, tty }
    const { url = '' } = await this.#connection.call(METHOD.exec, { container_id: id, cmd: command, ...wanted })
    return dialed(url, wanted, options.signal)
  }

  async attach(id: string, options: AttachOptions): Promise<ExecSession> {
    const { stdin = false, stdout = false, stderr = false, tty = false } = options
    const wanted = { stdin, stdout, stderr: stderr && !tty, tty }
    const { url = '' } = await this.#connection.call(METHOD.attach, { container_id: id, ...wanted })
    return dialed(url, wanted, options.signal)
  }

  async portForward(sandboxId: string, port: number): Promise<Duplex> {
    const { url = '' } = await this.#connection.call(METHOD.portForward, { pod_sandbox_id: sandboxId, port: [port] })
    return dialPortForward(url, port)
  }

  /** One call for all of it; taking the call back ends the command, which nothing else in CRI does. */
  async #captured(id: string, { command, stdout, stderr, signal }: ExecOptions): Promise<ExecSession> {
    await this.#requireRunning(id)
    const closed = new AbortController()
    const stop = signal ? AbortSignal.any([signal, closed.signal]) : closed.signal
    const request = { container_id: id, cmd: command }
    const answer = this.#connection
      .call(METHOD.execSync, request, { signal: stop, timeout: Number.POSITIVE_INFINITY })
      .catch((error: unknown) => {
        if (stop.aborted) return { exit_code: KILLED }
        throw error
      })
    const output = (name: 'stdout' | 'stderr') =>
      Readable.from(
        (async function* () {
          const bytes = ((await answer.catch(() => ({}))) as { stdout?: Buffer; stderr?: Buffer })[name]
          if (bytes?.length) yield bytes
        })(),
      )
    const exited = answer.then(({ exit_code: code = 0 }) => code)
    exited.catch(() => {})
    return {
      stdin: undefined,
      stdout: stdout ? output('stdout') : undefined,
      stderr: stderr ? output('stderr') : undefined,
      exited,
      async resize() {},
      async close() {
        closed.abort()
      },
    }
  }

  async #requireRunning(id: string): Promise<void> {
    const { status } = await this.#connection.call(METHOD.containerStatus, { container_id: id })
    const state = CONTAINER_STATES[status?.state ?? 0]
    if (state !== 'RUNNING') throw new RuntimeError('FailedPrecondition', `container is in CONTAINER_${state} state`)
  }
}

async function dialed(
  url: string,
  wanted: Parameters<typeof dialRemoteCommand>[1],
  signal: AbortSignal | undefined,
): Promise<ExecSession> {
  const command = await dialRemoteCommand(url, wanted)
  const aborted = new Promise<number>((resolve) => {
    const end = () => {
      resolve(KILLED)
      void command.close()
    }
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
  })
  const exited = Promise.race([command.exited, aborted])
  exited.catch(() => {})
  return { ...command, exited }
}
