import type { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { SpdyConnection, SpdyStream } from '../../base/spdy.ts'
import { COMMAND_SPDY_PROTOCOLS } from './command-spdy.ts'
import type { CommandStatus, CommandStreamOptions } from './command-streams.ts'
import { type DialOptions, dialSpdy } from './dial-spdy.ts'
import { formatTerminalSize, type TerminalSize } from './terminal-size.ts'

export type { DialOptions } from './dial-spdy.ts'

/** A command that runs elsewhere. */
export interface DialedCommand {
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  /** The exit code; rejects if the command could not be run or the connection broke. */
  readonly exited: Promise<number>
  resize(size: TerminalSize): Promise<void>
  /** Breaks the connection off. */
  close(): Promise<void>
}

/** The client's side of exec and attach: the URL says what to run, the options which streams it names. */
export async function dialRemoteCommand(
  url: string,
  options: CommandStreamOptions,
  dial: DialOptions = {},
): Promise<DialedCommand> {
  const { connection, protocol } = await dialSpdy(url, COMMAND_SPDY_PROTOCOLS, dial)
  const open = (type: string, isWanted: boolean) => (isWanted ? connection.open({ streamtype: type }) : undefined)
  // The order in which Kubernetes' own clients open them.
  const error = open('error', true)!
  const stdin = open('stdin', options.stdin)
  const stdout = open('stdout', options.stdout)
  const stderr = open('stderr', options.stderr && !options.tty)
  const resize = open('resize', options.tty && /^v[34]\./.test(protocol))
  const exited = exitCode(error, protocol.startsWith('v4'))
  exited.catch(() => {})
  void Promise.allSettled([exited, over(stdout), over(stderr)]).then(() => finish(connection, [stdin, resize]))
  return {
    stdin,
    stdout,
    stderr,
    exited,
    async resize(size) {
      resize?.write(formatTerminalSize(size))
    },
    async close() {
      connection.destroy()
      await connection.closed
    },
  }
}

function finish(connection: SpdyConnection, inputs: readonly (SpdyStream | undefined)[]): void {
  for (const input of inputs) input?.destroy()
  connection.close()
}

const over = (stream: SpdyStream | undefined) =>
  new Promise<void>((resolve) => (stream ? stream.once('end', resolve).once('close', resolve) : resolve()))

async function exitCode(error: SpdyStream, isObject: boolean): Promise<number> {
  const bytes = await buffer(error).catch(() => Buffer.alloc(0))
  const text = bytes.toString()
  if (!isObject) {
    if (text === '') return 0
    throw new Error(text)
  }
  if (text === '') throw new Error('the connection closed before the command ended')
  const status = JSON.parse(text) as CommandStatus
  if (status.status === 'Success') return 0
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (status.reason === 'NonZeroExitCode' && code !== undefined) return Number(code)
  throw new Error(status.message ?? text)
}
