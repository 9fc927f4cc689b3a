/** Notices when what is forwarded comes back here, by a question that nobody else asks, and stops the circle. */
import { noArguments, noOptions } from '../../corefile/options.ts'
import { emptyReply, type PluginKind } from '../../plugin.ts'
import { CLASS_IN, RCODES } from '../../wire/constants.ts'
import type { Query } from '../../wire/message.ts'

const HINFO = 13
/** Once it comes from us; upstreams may ask again, so that twice may be by accident. */
const TOLERATED = 2

export const loopKind: PluginKind = {
  name: 'loop',
  setup(directive, { random, log, clock, zones, plugins }) {
    noArguments(directive)
    noOptions(directive)
    const label = () => String(Math.floor(random.next() * 2 ** 48))
    const name = [label(), label(), ...(zones[0] ? [zones[0]] : [])].join('.')
    let seen = 0
    const stop = new AbortController()

    /** Asks the forwarder below, and looks whether the question comes in again from outside. */
    async function probe(): Promise<void> {
      const forward = plugins().find((plugin) => plugin.name === 'forward')
      const question = { name, type: HINFO, class: CLASS_IN }
      const query: Query = {
        id: 0,
        question,
        asked: name,
        recursionDesired: true,
        checkingDisabled: false,
        edns: undefined,
      }
      const resolve = () => emptyReply(RCODES.SERVFAIL)
      await forward?.answer({ query, question, client: '', transport: 'udp', resolve }, resolve)
    }

    return {
      name: 'loop',
      answer({ question }, next) {
        if (question.type === HINFO && question.name === name && ++seen > TOLERATED) {
          log.error(`Loop (${question.name}) detected for zone "${zones[0] || '.'}": nothing is forwarded any more`)
        }
        return seen > TOLERATED ? emptyReply(RCODES.SERVFAIL) : next()
      },
      async start() {
        // Not waited for: the server must listen for its own question first.
        void clock
          .sleep(1, stop.signal)
          .then(probe)
          .catch(() => {})
      },
      async [Symbol.asyncDispose]() {
        stop.abort()
      },
    }
  },
}
