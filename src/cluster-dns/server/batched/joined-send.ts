/** Where received packets lie: headers, vectors, addresses and buffers one after the other, `batch` of each. */
export interface PacketLayout {
  readonly batch: number
  readonly words: Uint32Array
}

export interface SendCalls {
  /** Where memory lies. */
  addressOf(bytes: Uint8Array): number
  /** sendmmsg: how many of `count` messages from `first` on were sent; less than 1 if not even the first. */
  send(first: number, count: number): number
  sendOne(packet: number): void
  errno(): number
}

/**
 * Sends answers that are as long and go to the same client as one message each, which the kernel cuts into packets again
 * (UDP_SEGMENT): its way through the network is what an answer costs most. Nothing is copied, the messages point to the
 * packets where they lie. Like AnswerTable it runs in a worker that is started from its text.
 */
export class JoinedSend {
  readonly #packets: PacketLayout
  readonly #send: SendCalls['send']
  readonly #sendOne: (packet: number) => void
  readonly #errno: () => number
  /** struct mmsghdr of 64 bytes, struct iovec of 16 and a control message of 32 for each of a batch. */
  readonly bytes: Uint8Array
  readonly #words: Uint32Array
  readonly #base: number
  /** By message: its first packet, and how many. By packet: the next one of its message. */
  readonly #first: Int32Array
  readonly #last: Int32Array
  readonly #count: Int32Array
  readonly #next: Int32Array
  /** Longer answers might be larger than the network takes in one piece, which only single ones may be. */
  readonly #mostBytes = 1200
  #messages = 0
  #isPossible = true

  constructor(packets: PacketLayout, calls: SendCalls) {
    const { batch } = packets
    this.#packets = packets
    this.#send = calls.send
    this.#sendOne = calls.sendOne
    this.#errno = calls.errno
    const memory = new ArrayBuffer(batch * (64 + 16 + 32))
    this.bytes = new Uint8Array(memory)
    this.#words = new Uint32Array(memory)
    this.#base = calls.addressOf(this.bytes)
    this.#first = new Int32Array(batch)
    this.#last = new Int32Array(batch)
    this.#count = new Int32Array(batch)
    this.#next = new Int32Array(batch)
  }

  /** A packet that is an answer now; its vector tells how long. */
  add(packet: number): void {
    this.#next[packet] = -1
    for (let message = this.#isPossible ? 0 : this.#messages; message < this.#messages; message++) {
      if (!this.#fits(message, packet)) continue
      this.#next[this.#last[message]!] = packet
      this.#last[message] = packet
      this.#count[message]!++
      return
    }
    this.#first[this.#messages] = packet
    this.#last[this.#messages] = packet
    this.#count[this.#messages++] = 1
  }

  /** Sends all that was added. */
  flush(): void {
    this.#lay()
    for (let at = 0; at < this.#messages; ) {
      const sent = this.#send(at, this.#messages - at)
      if (sent < 1) this.#sendApart(at)
      at += Math.max(sent, 1)
    }
    this.#messages = 0
  }

  #fits(message: number, packet: number): boolean {
    const { batch, words } = this.#packets
    const other = this.#first[message]!
    const length = words[batch * 16 + packet * 4 + 2]!
    if (length !== words[batch * 16 + other * 4 + 2]) return false
    // At most 64 packets, which is what a batch has, and 64 KB.
    if (length > this.#mostBytes || (this.#count[message]! + 1) * length > 60_000) return false
    const [mine, its] = [batch * 20 + packet * 8, batch * 20 + other * 8]
    for (let word = 0; word * 4 < words[packet * 16 + 2]!; word++)
      if (words[mine + word] !== words[its + word]) return false
    return true
  }

  #lay(): void {
    const { batch, words } = this.#packets
    let vector = 0
    for (let message = 0; message < this.#messages; message++) {
      const first = this.#first[message]!
      const header = message * 16
      this.#words[header] = words[first * 16]!
      this.#words[header + 1] = words[first * 16 + 1]!
      this.#words[header + 2] = words[first * 16 + 2]!
      this.#point(header + 4, batch * 64 + vector * 16)
      this.#words[header + 6] = this.#count[message]!
      for (let packet = first; packet >= 0; packet = this.#next[packet]!, vector++) {
        const [from, to] = [batch * 16 + packet * 4, batch * 16 + vector * 4]
        for (let word = 0; word < 4; word++) this.#words[to + word] = words[from + word]!
      }
      this.#control(message, words[batch * 16 + first * 4 + 2]!)
    }
  }

  /** The control message: cut into packets of this length. */
  #control(message: number, length: number): void {
    const header = message * 16
    const isJoined = this.#count[message]! > 1
    const at = this.#packets.batch * 80 + message * 32
    if (isJoined) this.#point(header + 8, at)
    else this.#words.fill(0, header + 8, header + 10)
    this.#words[header + 10] = isJoined ? 24 : 0
    const word = at / 4
    this.#words[word] = 18
    this.#words[word + 2] = 17
    this.#words[word + 3] = 103
    this.#words[word + 4] = length
  }

  #point(word: number, offset: number): void {
    const address = this.#base + offset
    this.#words[word] = address % 2 ** 32
    this.#words[word + 1] = Math.floor(address / 2 ** 32)
  }

  /** What could not be sent as one is sent apart; where the system cannot do it at all, so is all that follows. */
  #sendApart(message: number): void {
    // A packet that cannot be sent is left out, as the network might have done.
    if (this.#count[message] === 1) return
    // EIO, EINVAL, EMSGSIZE, ENOPROTOOPT, EOPNOTSUPP
    if ([5, 22, 90, 92, 95].includes(this.#errno())) this.#isPossible = false
    for (let packet = this.#first[message]!; packet >= 0; packet = this.#next[packet]!) this.#sendOne(packet)
  }
}
