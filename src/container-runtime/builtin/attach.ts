import { existsSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import type { SyscallAgents } from '../../linux/syscall-agent.ts'
import { type AttachOptions, type ExecSession, RuntimeError } from '../runtime.ts'
import type { BuiltinContainer } from './container.ts'
import { openWriter, signalThrough } from './pipes.ts'
import { FILES } from './shim.ts'
import { resizeTerminalOf } from './terminal.ts'

/** The streams of a running container: output as it comes from now on, input to its first process. */
export function attachTo(agents: SyscallAgents, container: BuiltinContainer, options: AttachOptions): ExecSession {
  const { output, started, folder, record } = container
  if (!output || !started) throw new RuntimeError('FailedPrecondition', 'container is not running')
  const stdout = options.stdout ? new PassThrough() : undefined
  const stderr = options.stderr && !record.config.tty ? new PassThrough() : undefined
  const streams = { stdout, stderr }
  // A reader that is too slow loses the session, not the container's time.
  const unlisten = output.listen((name, chunk) => {
    if (streams[name] && streams[name].writableLength > MAX_BEHIND) return void end()
    streams[name]?.write(chunk)
  })
  const stdin = options.stdin && record.config.stdin ? inputOf(folder, record.config.stdinOnce) : undefined
  let settle: (code: number) => void = () => {}
  const exited = new Promise<number>((resolve) => {
    settle = resolve
  })
  const end = () => {
    unlisten()
    stdin?.destroy()
    stdout?.end()
    stderr?.end()
    settle(0)
  }
  void container.exited.then(end)
  // Who has said all, to a program that may be told more by others, does not listen on: so do other runtimes.
  if (!record.config.stdinOnce || record.config.tty) stdin?.once('finish', end)
  options.signal?.addEventListener('abort', end, { once: true })
  return {
    stdin,
    stdout,
    stderr,
    exited,
    async resize(size) {
      if (started.terminal) await resizeTerminalOf(agents, started.terminal, size)
    },
    async close() {
      end()
    },
  }
}

const MAX_BEHIND = 16 << 20

function inputOf(folder: string, once: boolean) {
  const file = path.join(folder, FILES.stdin)
  if (!existsSync(file)) return undefined
  const stdin = openWriter(file)
  // Whoever held the input open for the first to attach lets go of it with him.
  if (once) stdin.on('close', () => signalThrough(path.join(folder, FILES.stdinEnd)))
  return stdin
}
