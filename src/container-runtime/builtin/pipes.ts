/** Named and unnamed pipes as streams of Node. */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'

/** Ends when the last writer has closed. */
export function openReader(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

/** Also ends if the last writer closed before: the kernel tells a reader only of the end of writers it has seen. */
export function openFifoReader(path: string): Socket {
  const reader = openReader(path)
  closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK))
  return reader
}

/** A pipe has no half to shut down: its end is a close, once everything is written. */
export function openWriter(path: string): Writable {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  const socket = new Socket({ fd, readable: false, writable: true })
  const writer = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      socket.write(chunk, done)
    },
    final: (done) => {
      socket.destroy()
      done()
    },
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  // A reader that has gone is the end of the session, which its exit code tells.
  socket.on('error', () => writer.destroy())
  writer.on('error', () => {})
  return writer
}

/** One byte for whoever waits at the other end, now or later. */
export function signalThrough(path: string): void {
  try {
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    writeSync(fd, '.')
    closeSync(fd)
  } catch {
    // Nobody waits there any more.
  }
}
