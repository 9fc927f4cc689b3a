/** Tells at :8181/ready whether every plugin can serve. */
import { hostAndPort, noOptions } from '../../corefile/options.ts'
import type { PluginKind } from '../../plugin.ts'
import { HttpPage } from '../../server/http.ts'

export const readyKind: PluginKind = {
  name: 'ready',
  setup(directive, { host, log, plugins }) {
    noOptions(directive)
    const address = hostAndPort(directive, directive.args[0] ?? '', { host, port: 8181 })
    const page = new HttpPage(address, '/ready', log, () => {
      const waiting = plugins().flatMap((plugin) => plugin.notReady?.() ?? [])
      return waiting.length === 0 ? { status: 200, body: 'OK' } : { status: 503, body: waiting.join(',') }
    })
    return {
      name: 'ready',
      answer: (_, next) => next(),
      start: () => page.start(),
      [Symbol.asyncDispose]: () => page[Symbol.asyncDispose](),
    }
  },
}
