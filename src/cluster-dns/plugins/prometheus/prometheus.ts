/** Counts queries and answers, and tells the figures at :9153/metrics. */
import { hostAndPort, noOptions } from '../../corefile/options.ts'
import { nothingHeld, type PluginKind, whenAnswered } from '../../plugin.ts'
import { HttpPage } from '../../server/http.ts'
import { rcodeName, typeName } from '../../wire/constants.ts'
import type { Reply } from '../../wire/message.ts'

export const prometheusKind: PluginKind = {
  name: 'prometheus',
  setup(directive, { host, log, metrics, clock, zones }) {
    noOptions(directive)
    const address = hostAndPort(directive, directive.args[0] ?? '', { host, port: 9153 })
    const zone = `${zones[0] ?? ''}.`
    const body = () => metrics.expose()
    const page = new HttpPage(address, '/metrics', log, () => ({ status: 200, body: body() }))
    return {
      name: 'prometheus',
      answer({ question, transport, client }, next) {
        const start = clock.now()
        metrics.request(zone, transport, client, typeName(question.type))
        return whenAnswered(next(), (reply: Reply) => {
          metrics.response(zone, rcodeName(reply.rcode), (clock.now() - start) / 1000)
          return reply
        })
      },
      ...(address.port === 0
        ? nothingHeld
        : { start: () => page.start(), [Symbol.asyncDispose]: () => page[Symbol.asyncDispose]() }),
    }
  },
}
