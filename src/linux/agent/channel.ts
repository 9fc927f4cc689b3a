import type { Socket } from 'node:net'
import { type Architecture, ownArchitecture, syscallNumbers } from '../syscall-numbers.ts'
import { LinuxError } from '../system-error.ts'
import { COPY, FLAG } from './layout.ts'
import { encodeRequest, type SyscallArgument } from './request.ts'

export interface CallOptions {
  /** A refusal is an answer too: the negated errno. */
  readonly soft?: boolean
  /** As many bytes of `out` come back as the result says (read, readlinkat). */
  readonly resultLength?: boolean
  /** The first argument is the kept result. */
  readonly useKept?: boolean
  /** Keep the result for a following call. */
  readonly keep?: boolean
  /** A clone: the child takes its requests from this descriptor. */
  readonly childControl?: number
}

interface Answer {
  readonly result: number
  readonly bytes: Buffer
}

interface Pending {
  readonly what: string
  readonly soft: boolean
  readonly outputLength: number
  readonly resultLength: boolean
  resolve(answer: Answer): void
  reject(error: Error): void
}

/** The agent has gone: it ended, or became another program. */
export class AgentGone extends Error {
  override readonly name = 'AgentGone'
}

/**
 * Drives one agent: calls are sent in order, without waiting for the answers before. All calls of one turn of the event
 * loop leave as one write.
 */
export class AgentChannel {
  private readonly socket: Socket
  private readonly pending: Pending[] = []
  private outgoing: Buffer[] = []
  private incoming: Buffer = Buffer.alloc(0)
  private closed = false
  private holds = true
  private readonly numbers: ReadonlyMap<string, number>
  /** Resolves when the agent has ended or become another program. */
  readonly gone: Promise<void>

  constructor(socket: Socket, architecture: Architecture = ownArchitecture()) {
    this.socket = socket
    this.numbers = syscallNumbers(architecture)
    socket.on('data', (bytes: Buffer) => this.onData(bytes))
    this.gone = new Promise((resolve) => {
      const end = () => {
        this.onEnd()
        resolve()
      }
      socket.on('end', end).on('close', end).on('error', end)
    })
  }

  /** The result; a refusal rejects with a LinuxError, unless soft. */
  call(name: string, args: readonly SyscallArgument[] = [], options: CallOptions = {}): Promise<number> {
    return handled(this.request(name, args, options).then(({ result }) => result))
  }

  /** Like `call`, with the bytes of the `out` argument. */
  answer(name: string, args: readonly SyscallArgument[], options: CallOptions = {}): Promise<Answer> {
    return this.request(name, args, options)
  }

  /** Queued for the agent to do even if this process ends; nobody learns the result. */
  tell(name: string, args: readonly SyscallArgument[] = [], options: CallOptions = {}): void {
    if (this.closed) return
    this.write(encodeRequest(this.numberOf(name), args, flagsOf(options) | (1 << FLAG.silent)).bytes)
  }

  /** Copies one descriptor to another until either end closes, whatever happens to this process. */
  tellCopy(from: number, to: number): void {
    if (!this.closed) this.write(encodeRequest(COPY, [from, to], 1 << FLAG.silent).bytes)
  }

  /** The first answer of a cloned agent, whose call was made by its parent. */
  born(): Promise<number> {
    return handled(this.expect('clone', 0, {}).then(({ result }) => result))
  }

  /** Lets go of the agent; what it was told before it still does. */
  close(): void {
    this.flush()
    this.socket.end()
    this.socket.destroySoon()
  }

  /** Keeps the process alive only while an answer is awaited. */
  unrefWhenIdle(): void {
    this.holds = false
    if (this.pending.length === 0) this.socket.unref()
  }

  private numberOf(name: string): number {
    const number = this.numbers.get(name)
    if (number === undefined) throw new Error(`no system call ${name} on ${process.arch}`)
    return number
  }

  private request(name: string, args: readonly SyscallArgument[], options: CallOptions): Promise<Answer> {
    if (this.closed) return handled(Promise.reject(new AgentGone(`${name}: the agent has gone`)))
    const { bytes, outputLength } = encodeRequest(this.numberOf(name), args, flagsOf(options))
    this.write(bytes)
    return this.expect(describe(name, args), outputLength, options)
  }

  private expect(what: string, outputLength: number, options: CallOptions): Promise<Answer> {
    const answer = new Promise<Answer>((resolve, reject) => {
      const { soft = false, resultLength = false } = options
      if (!this.holds && this.pending.length === 0) this.socket.ref()
      this.pending.push({ what, soft, outputLength, resultLength, resolve, reject })
    })
    return handled(answer)
  }

  private write(bytes: Buffer): void {
    if (this.outgoing.length === 0) queueMicrotask(() => this.flush())
    this.outgoing.push(bytes)
  }

  private flush(): void {
    const bytes = this.outgoing
    this.outgoing = []
    if (bytes.length > 0 && !this.closed) this.socket.write(Buffer.concat(bytes))
  }

  private onData(bytes: Buffer): void {
    this.incoming = this.incoming.length > 0 ? Buffer.concat([this.incoming, bytes]) : bytes
    let at = 0
    while (this.pending.length > 0 && this.incoming.length - at >= 8) {
      const next = this.pending[0]!
      const result = Number(this.incoming.readBigInt64LE(at))
      const length = next.resultLength ? Math.max(0, result) : next.outputLength
      if (this.incoming.length - at < 8 + length) break
      const output = this.incoming.subarray(at + 8, at + 8 + length)
      at += 8 + length
      this.pending.shift()
      if (result < 0 && !next.soft) next.reject(new LinuxError(-result, next.what))
      else next.resolve({ result, bytes: output })
    }
    this.incoming = this.incoming.subarray(at)
    if (!this.holds && this.pending.length === 0) this.socket.unref()
  }

  private onEnd(): void {
    if (this.closed) return
    this.closed = true
    for (const { what, reject } of this.pending.splice(0)) reject(new AgentGone(`${what}: the agent has gone`))
    this.socket.destroy()
  }
}

/** A call after a failed one may be refused when nobody listens any more; whoever awaits it still learns. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function flagsOf({ resultLength, useKept, keep, childControl }: CallOptions): number {
  let flags = 0
  if (resultLength) flags |= 1 << FLAG.resultLength
  if (useKept) flags |= 1 << FLAG.useKept
  if (keep) flags |= 1 << FLAG.keep
  if (childControl !== undefined) flags |= (1 << FLAG.fork) | (childControl << 8)
  return flags
}

/** `mount("proc", "/proc", …)`: enough to find the call in the code. */
function describe(name: string, args: readonly SyscallArgument[]): string {
  const shown = args.map((argument) => {
    if (typeof argument === 'string') return JSON.stringify(argument)
    return typeof argument === 'object' && argument !== null ? '…' : String(argument)
  })
  return `${name}(${shown.join(', ')})`
}
