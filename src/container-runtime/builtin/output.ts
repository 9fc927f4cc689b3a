import type { Socket } from 'node:net'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { LogWriter } from './log-writer.ts'
import { openFifoReader } from './pipes.ts'
import { FILES } from './shim.ts'

type StreamName = 'stdout' | 'stderr'
export type OutputListener = (stream: StreamName, chunk: Buffer) => void

/** Reads what a container writes: to its log, and to whoever is attached. */
export class ContainerOutput {
  private readonly log: LogWriter
  private readonly onLogError: (error: unknown) => void
  private readonly listeners = new Set<OutputListener>()
  private readonly sockets: Socket[]
  /** Both streams have been read to their end. */
  readonly ended: Promise<unknown>

  constructor(folder: string, tty: boolean, log: LogWriter, onLogError: (error: unknown) => void) {
    this.log = log
    this.onLogError = onLogError
    const names: StreamName[] = tty ? ['stdout'] : ['stdout', 'stderr']
    this.sockets = names.map((name) => openFifoReader(path.join(folder, FILES[name])))
    this.ended = Promise.all(names.map((name, i) => this.read(name, this.sockets[i]!)))
  }

  /** Called for every chunk until the returned function is. */
  listen(listener: OutputListener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
    this.log.close()
  }

  /** Also of a container that never writes, the log is there to be read. */
  openLog(): void {
    try {
      this.log.reopen()
    } catch (error) {
      this.onLogError(error)
    }
  }

  reopenLog(): void {
    this.log.reopen()
  }

  private read(name: StreamName, stream: Readable): Promise<void> {
    stream.on('data', (chunk: Buffer) => {
      try {
        this.log.write(name, chunk)
      } catch (error) {
        // A full disk costs the container its log, not its life.
        this.onLogError(error)
      }
      for (const listener of this.listeners) listener(name, chunk)
    })
    return new Promise((resolve) => stream.on('close', resolve).on('error', () => {}))
  }
}
