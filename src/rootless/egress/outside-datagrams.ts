import { createSocket, type Socket } from 'node:dgram'
import type { Clock, Timer } from '../../base/clock.ts'
import { openEchoSocket } from '../../linux/echo-socket.ts'
import type { MessageSocket } from '../../linux/message-socket.ts'
import { type Datagram, PROTOCOL } from './datagram.ts'
import { echoRequest, parseEchoReply } from './packet.ts'

/** As long as the kernel remembers a flow that answers. */
const IDLE = 120_000
const MOST_FLOWS = 1024

interface Place {
  readonly host: string
  readonly port: number
}

interface Flow extends Disposable {
  send(datagram: Datagram, place: Place): void
  timer: Timer
}

/** A socket for each port inside, and one for each host that is pinged, until they are silent for long. */
export class OutsideDatagrams implements Disposable {
  readonly #clock: Clock
  readonly #answer: (datagram: Datagram) => void
  readonly #flows = new Map<string, Flow>()

  constructor(clock: Clock, answer: (datagram: Datagram) => void) {
    this.#clock = clock
    this.#answer = answer
  }

  send(datagram: Datagram, place: Place): void {
    const { protocol, localPort, host } = datagram
    const key = protocol === PROTOCOL.udp ? `udp ${localPort}` : `icmp ${localPort} ${host}`
    let flow = this.#flows.get(key)
    if (!flow) {
      const opened = protocol === PROTOCOL.udp ? this.#openUdp(key, localPort) : this.#openEcho(key, localPort, host)
      if (!opened) return
      flow = opened
      this.#makeRoom()
    }
    flow.timer.cancel()
    flow.timer = this.#expire(key)
    // The one that was used last is the last to go.
    this.#flows.delete(key)
    this.#flows.set(key, flow)
    flow.send(datagram, place)
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#flows.keys()]) this.#close(key)
  }

  #openUdp(key: string, localPort: number): Flow {
    const socket: Socket = createSocket('udp4')
    /** Who answers under another name. */
    const aliases = new Map<string, string>()
    socket.on('error', () => this.#close(key))
    socket.on('message', (payload, { address, port }) => {
      const host = aliases.get(`${address}:${port}`) ?? address
      this.#answer({ protocol: PROTOCOL.udp, localPort, host, port, payload })
    })
    return {
      timer: this.#expire(key),
      send({ host, payload }, place) {
        if (host !== place.host) aliases.set(`${place.host}:${place.port}`, host)
        socket.send(payload, place.port, place.host, () => {})
      },
      [Symbol.dispose]: () => socket.close(),
    }
  }

  /** Undefined where the system keeps pings to root. */
  #openEcho(key: string, localPort: number, host: string): Flow | undefined {
    let socket: MessageSocket
    try {
      socket = openEchoSocket(host, (message) => {
        const reply = parseEchoReply(message, localPort, host)
        if (reply) this.#answer(reply)
      })
    } catch {
      return undefined
    }
    return {
      timer: this.#expire(key),
      send: (datagram) => socket.send(echoRequest(datagram)),
      [Symbol.dispose]: () => socket[Symbol.dispose](),
    }
  }

  #expire(key: string): Timer {
    const timer = this.#clock.after(IDLE, () => this.#close(key))
    timer.unref()
    return timer
  }

  #makeRoom(): void {
    if (this.#flows.size < MOST_FLOWS) return
    const [oldest] = this.#flows.keys()
    if (oldest !== undefined) this.#close(oldest)
  }

  #close(key: string): void {
    const flow = this.#flows.get(key)
    if (!flow) return
    this.#flows.delete(key)
    flow.timer.cancel()
    flow[Symbol.dispose]()
  }
}
