import type { Readable } from 'node:stream'
import { ApiError, internalError } from '../../../api/meta/api-error.ts'
import type { CommandStatus, CommandStreams } from '../../../client/remote-command.ts'
import type { ExecSession } from '../../../container-runtime/runtime.ts'

const SUCCESS: CommandStatus = { metadata: {}, status: 'Success' }

/** Joins a session with the streams of whoever asked for it, and tells them how it ended. */
export async function runCommand(streams: CommandStreams, start: () => Promise<ExecSession>): Promise<void> {
  let session: ExecSession
  try {
    session = await start()
  } catch (error) {
    return streams.finish(failure(error))
  }
  void streams.closed.then(() => session.close()).catch(() => {})
  await streams.finish(await carry(streams, session))
}

async function carry(streams: CommandStreams, session: ExecSession): Promise<CommandStatus> {
  streams.onResize((size) => void session.resize(size).catch(() => {}))
  sendInput(streams, session)
  const output = [send(session.stdout, streams.stdout), send(session.stderr, streams.stderr)]
  try {
    const code = await session.exited
    await Promise.race([Promise.all(output), streams.closed])
    return code === 0 ? SUCCESS : exitStatus(code)
  } catch (error) {
    return failure(error)
  }
}

function sendInput({ stdin }: CommandStreams, session: ExecSession): void {
  if (!stdin) return
  const target = session.stdin
  if (!target) {
    stdin.resume()
    return
  }
  // A command that ended, or closed its input, does not want the rest.
  target.on('error', () => stdin.unpipe(target).resume())
  stdin.pipe(target)
}

/** Resolves when the command has no more to say. */
function send(source: Readable | undefined, target: CommandStreams['stdout']): Promise<void> {
  if (!source) return Promise.resolve()
  return new Promise((resolve) => {
    source.once('end', resolve)
    source.once('close', resolve)
    source.once('error', () => resolve())
    if (target) source.pipe(target, { end: false })
    else source.resume()
  })
}

function exitStatus(code: number): CommandStatus {
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  }
}

/** What stands in the way is told as it is; what goes wrong on the way is an error of ours. */
function failure(error: unknown): CommandStatus {
  if (error instanceof ApiError) return { ...error.toStatus(), metadata: {} }
  const message = error instanceof Error ? error.message : String(error)
  return { ...internalError(`error executing command in container: ${message}`).toStatus(), metadata: {} }
}
