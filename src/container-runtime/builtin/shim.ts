/**
 * The parent of a container: an agent of a few pages that outlives this process. It holds the ends of the container's
 * pipes, waits for it, writes how it ended to a file, and stays until somebody has read the last of the output.
 *
 *   stdout, stderr   fifos: the container writes, whoever is the runtime reads; held open for reading, so that nobody gets
 *                    EPIPE while no runtime runs
 *   alive            a fifo only the shim writes to: its end says that `exit` is there
 *   release          a fifo: one byte, and the shim ends
 *   exit             the status of wait4
 */
import path from 'node:path'
import { makeFifo, openAs } from '../../linux/agent-files.ts'
import { AT_FDCWD, O } from '../../linux/mounts.ts'
import { AGENT_DATA, type Agent, type AgentChannel } from '../../linux/syscall-agent.ts'

/** Descriptors of a shim; its child inherits them until it becomes the container. */
export const FD = {
  stdoutRead: 20,
  stdoutWrite: 21,
  stderrRead: 22,
  stderrWrite: 23,
  stdinRead: 24,
  stdinWrite: 25,
  alive: 26,
  exit: 27,
  release: 28,
  childControl: 29,
  programControl: 30,
  namespace: 31,
} as const

export const FILES = {
  stdout: 'stdout',
  stderr: 'stderr',
  stdin: 'stdin',
  stdinEnd: 'stdin-end',
  alive: 'alive',
  release: 'release',
  exit: 'exit',
} as const

export interface ShimOptions {
  readonly folder: string
  readonly stdin: boolean
  readonly tty: boolean
}

export function prepareShim(shim: AgentChannel, { folder, stdin, tty }: ShimOptions): Promise<unknown> {
  const file = (name: string) => path.join(folder, name)
  const steps: Promise<unknown>[] = []
  const fifo = (name: string) => steps.push(makeFifo(shim, file(name)))
  const open = (fd: number, name: string, flags: number) => steps.push(openAs(shim, fd, file(name), flags, 0o600))
  for (const [name, read, write] of [
    [FILES.stdout, FD.stdoutRead, FD.stdoutWrite],
    ...(tty ? [] : ([[FILES.stderr, FD.stderrRead, FD.stderrWrite]] as const)),
  ] as const) {
    fifo(name)
    open(read, name, O.RDONLY | O.NONBLOCK)
    open(write, name, O.WRONLY)
  }
  if (stdin) {
    fifo(FILES.stdin)
    fifo(FILES.stdinEnd)
    open(FD.stdinWrite, FILES.stdin, O.RDWR)
    open(FD.stdinRead, FILES.stdin, O.RDONLY)
  }
  fifo(FILES.alive)
  open(FD.alive, FILES.alive, O.RDWR)
  fifo(FILES.release)
  open(FD.release, FILES.release, O.RDWR)
  open(FD.exit, `${FILES.exit}.tmp`, O.WRONLY | O.CREAT | O.TRUNC)
  return Promise.all(steps)
}

/** Everything the shim does from now on, whatever happens to this process. */
export function letShimWait(shim: AgentChannel, child: Agent, folder: string, holdStdin: boolean): void {
  const file = (name: string) => path.join(folder, name)
  const given = [FD.stdoutWrite, FD.stderrWrite, FD.stdinRead, ...(holdStdin ? [] : [FD.stdinWrite])]
  for (const fd of given) shim.tell('close', [fd])
  shim.tell('wait4', [child.pid, { out: 4 }, 0, null])
  // The status is where wait4 put it: this request brings no bytes that would overwrite it.
  shim.tell('write', [FD.exit, AGENT_DATA, 4])
  shim.tell('renameat2', [AT_FDCWD, file(`${FILES.exit}.tmp`), AT_FDCWD, file(FILES.exit), 0])
  shim.tell('close', [FD.alive])
  shim.tell('read', [FD.release, { out: 8 }, 1])
  shim.tell('exit_group', [0])
}
