/** What epoll watches, and what it told at once. Its text is run in a worker, so it is whole in itself. */
import type { SpliceCalls } from './splice-calls.ts'

export class Epoll {
  static readonly MOST_FDS = 1 << 16
  static readonly MOST_EVENTS = 256
  static readonly NOT_WATCHED = -1

  readonly #call: SpliceCalls['call']
  /** 12 on x64, where it is packed, 16 elsewhere. */
  readonly #eventBytes: number
  readonly #fd: number
  readonly #events: DataView
  readonly #eventsAt: number
  readonly #control: DataView
  readonly #controlAt: number
  readonly #watched = new Int32Array(Epoll.MOST_FDS).fill(Epoll.NOT_WATCHED)

  constructor(calls: SpliceCalls, eventBytes: number) {
    this.#call = calls.call
    this.#eventBytes = eventBytes
    const memory = (size: number) => {
      const view = new DataView(new ArrayBuffer(size))
      return [view, calls.addressOf(new Uint8Array(view.buffer))] as const
    }
    ;[this.#events, this.#eventsAt] = memory(Epoll.MOST_EVENTS * 16)
    ;[this.#control, this.#controlAt] = memory(16)
    this.#fd = this.#call.epoll_create1(0o2000000)
  }

  /** How many descriptors something happened to; which ones and what, `fdOf` and `eventsOf` tell until the next call. */
  wait(milliseconds: number): number {
    return this.#call.epoll_wait(this.#fd, this.#eventsAt, Epoll.MOST_EVENTS, milliseconds)
  }

  fdOf(index: number): number {
    return this.#events.getInt32(index * this.#eventBytes + this.#eventBytes - 8, true)
  }

  eventsOf(index: number): number {
    return this.#events.getUint32(index * this.#eventBytes, true)
  }

  watch(fd: number, events: number): void {
    // Numbers beyond the array are of sockets that are watched once and for all.
    const before = this.#watched[fd] ?? Epoll.NOT_WATCHED
    if (before === events) return
    this.#watched[fd] = events
    this.#control.setUint32(0, events, true)
    this.#control.setInt32(this.#eventBytes - 8, fd, true)
    const [ADD, MODIFY] = [1, 3]
    this.#call.epoll_ctl(this.#fd, before === Epoll.NOT_WATCHED ? ADD : MODIFY, fd, this.#controlAt)
  }

  watchAlso(fd: number, event: number): void {
    this.watch(fd, this.#watched[fd] === Epoll.NOT_WATCHED ? event : this.#watched[fd]! | event)
  }

  watchNoMore(fd: number, event: number): void {
    if (this.#watched[fd] !== Epoll.NOT_WATCHED) this.watch(fd, this.#watched[fd]! & ~event)
  }

  isWatchedFor(fd: number, event: number): boolean {
    return this.#watched[fd] !== Epoll.NOT_WATCHED && (this.#watched[fd]! & event) !== 0
  }

  /** Not even that it has hung up, which would be reported for ever. */
  mute(fd: number): void {
    if (this.#watched[fd] === Epoll.NOT_WATCHED) return
    this.#watched[fd] = Epoll.NOT_WATCHED
    const DELETE = 2
    this.#call.epoll_ctl(this.#fd, DELETE, fd, this.#controlAt)
  }

  /** It is about to be closed, and the kernel forgets it then. */
  forget(fd: number): void {
    this.#watched[fd] = Epoll.NOT_WATCHED
  }
}
