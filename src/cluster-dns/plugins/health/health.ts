/** Tells at :8080/health that the server lives. */
import { duration, hostAndPort, unknownOption } from '../../corefile/options.ts'
import type { PluginKind } from '../../plugin.ts'
import { HttpPage } from '../../server/http.ts'

export const healthKind: PluginKind = {
  name: 'health',
  setup(directive, { host, log, clock }) {
    let lameduck = 0
    for (const option of directive.options) {
      if (option.name === 'lameduck') lameduck = duration(option, option.args[0])
      else unknownOption('health', option)
    }
    const address = hostAndPort(directive, directive.args[0] ?? '', { host, port: 8080 })
    let isLame = false
    const page = new HttpPage(address, '/health', log, () =>
      isLame ? { status: 503, body: 'shutting down' } : { status: 200, body: 'OK' },
    )
    return {
      name: 'health',
      answer: (_, next) => next(),
      start: () => page.start(),
      async [Symbol.asyncDispose]() {
        isLame = true
        if (lameduck > 0) await clock.sleep(lameduck)
        await page[Symbol.asyncDispose]()
      },
    }
  },
}
