import type { Readable } from 'node:stream'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'

export interface ExecResult {
  readonly exitCode: number
  /** The beginning of what it wrote, errors included. */
  readonly output: string
}

const MAX_OUTPUT = 10 * 1024

/** Runs a command in a container to its end. */
export async function execCommand(
  runtime: ContainerRuntime,
  containerId: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ExecResult> {
  const session = await runtime.exec(containerId, { command, stdout: true, stderr: true, captured: true, signal })
  const chunks: Buffer[] = []
  let size = 0
  const collect = (stream: Readable | undefined) =>
    stream &&
    new Promise<void>((resolve) => {
      stream.on('data', (chunk: Buffer) => {
        if (size < MAX_OUTPUT) chunks.push(chunk)
        size += chunk.length
      })
      stream.once('close', resolve)
      stream.once('end', resolve)
      stream.once('error', () => resolve())
    })
  const written = Promise.all([collect(session.stdout), collect(session.stderr)])
  const exitCode = await session.exited
  await written
  return { exitCode, output: Buffer.concat(chunks).toString('utf8', 0, MAX_OUTPUT) }
}
