import type { Timer } from '../../../base/clock.ts'
import { CLASS_IN, RCODES, TYPES } from '../../wire/constants.ts'
import { decodeReply } from '../../wire/decode.ts'
import { encodeQuery, OWN_UDP_SIZE } from '../../wire/encode.ts'
import type { Query, Question, Reply } from '../../wire/message.ts'
import { askByTcp, askByUdp, type Exchange, type UpstreamAddress } from './exchange.ts'
import type { ForwardContext } from './forward.ts'
import type { ForwardOptions } from './options.ts'

export type { UpstreamAddress } from './exchange.ts'

type UpstreamOptions = Pick<ForwardOptions, 'timeout' | 'maxFails' | 'healthCheck' | 'forceTcp'>
type Decoded = ReturnType<typeof decodeReply>

/** What every server of the world can say something about. */
const HEALTH_QUESTION: Question = { name: '', type: TYPES.NS, class: CLASS_IN }

/** One other server. Every query has a socket and an id of its own, so that nobody can guess where to send a forgery. */
export class Upstream implements Disposable {
  readonly name: string
  readonly #address: UpstreamAddress
  readonly #options: UpstreamOptions
  readonly #context: ForwardContext
  /** How many queries in a row went without an answer. */
  #fails = 0
  #checking: Timer | undefined
  #isDisposed = false

  constructor(address: UpstreamAddress, options: UpstreamOptions, context: ForwardContext) {
    this.name = address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
    this.#address = address
    this.#options = options
    this.#context = context
  }

  get isDown(): boolean {
    const { maxFails } = this.#options
    return maxFails > 0 && this.#fails >= maxFails
  }

  /** Asks by UDP, and again by TCP if the answer did not fit. */
  async ask(query: Query, transport: 'udp' | 'tcp'): Promise<Reply> {
    const { question, checkingDisabled } = query
    const dnssecOk = query.edns?.dnssecOk ?? false
    try {
      const answer = await this.#ask({ question, checkingDisabled, dnssecOk, transport })
      this.#fails = 0
      return answer.reply
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  async #ask(what: { question: Question; checkingDisabled: boolean; dnssecOk: boolean; transport: 'udp' | 'tcp' }) {
    const { question, checkingDisabled, dnssecOk, transport } = what
    const id = Math.floor(this.#context.random.next() * 0x10000)
    const edns = { udpSize: OWN_UDP_SIZE, version: 0, dnssecOk }
    const packet = encodeQuery({ id, question, checkingDisabled, edns })
    const byUdp = transport === 'udp' ? await this.#exchange(packet, id, question, askByUdp) : undefined
    return byUdp && !byUdp.truncated ? byUdp : await this.#exchange(packet, id, question, askByTcp)
  }

  #exchange(packet: Buffer, id: number, question: Question, exchange: Exchange): Promise<Decoded> {
    const { clock } = this.#context
    return new Promise((resolve, reject) => {
      const close = exchange(this.#address, packet, received, failed)
      const timer = clock.after(this.#options.timeout, () => failed(new Error(`${this.name} does not answer`)))
      function failed(error: Error): void {
        timer.cancel()
        close()
        reject(error)
      }
      function received(bytes: Buffer): void {
        const decoded = decodeSafely(bytes)
        // Somebody else's answer, or a forged one: go on waiting.
        if (!decoded || decoded.id !== id || !isAnswerTo(decoded, question)) return
        timer.cancel()
        close()
        resolve(decoded)
      }
    })
  }

  #failed(): void {
    this.#fails++
    if (this.isDown) this.#checkLater()
  }

  /** From the first time it is down until it answers, whatever it answers. */
  #checkLater(): void {
    const { healthCheck, forceTcp } = this.#options
    if (this.#checking || this.#isDisposed || healthCheck === 0) return
    this.#checking = this.#context.clock
      .after(healthCheck, () => {
        const transport = forceTcp ? 'tcp' : 'udp'
        this.#ask({ question: HEALTH_QUESTION, checkingDisabled: false, dnssecOk: false, transport })
          .then(() => {
            this.#fails = 0
            this.#checking = undefined
          })
          .catch(() => {
            this.#context.metrics?.healthCheckFailed(this.name)
            this.#checking = undefined
            this.#checkLater()
          })
      })
      .unref()
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#checking?.cancel()
  }
}

function decodeSafely(bytes: Buffer): Decoded | undefined {
  try {
    return decodeReply(bytes)
  } catch {
    return undefined
  }
}

/**
 * The question comes back as it was sent, letter by letter. Servers that understood nothing may leave it out: then there is
 * nothing in the answer to believe.
 */
function isAnswerTo({ question: echoed, asked, reply }: Decoded, question: Question): boolean {
  if (!echoed)
    return reply.rcode !== RCODES.NOERROR && [reply.answers, reply.authority, reply.additional].every(isEmpty)
  return asked === question.name && echoed.type === question.type && echoed.class === question.class
}

const isEmpty = (records: readonly unknown[]) => records.length === 0
