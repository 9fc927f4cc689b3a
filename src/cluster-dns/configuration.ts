/** From the text of a Corefile to the plugins it asks for. */
import { CorefileError } from './corefile/corefile-error.ts'
import { zoneOf } from './corefile/options.ts'
import { parseCorefile, type ServerBlock } from './corefile/parse.ts'
import type { DnsPlugin, PluginContext } from './plugin.ts'
import { PLUGINS } from './plugins.ts'
import { type Answerer, createAnswerer, type ZoneChain } from './server/chain.ts'

export interface Configuration extends AsyncDisposable {
  readonly answer: Answerer
  readonly plugins: readonly DnsPlugin[]
  /** Lets the plugins open what they serve besides DNS. */
  start(): Promise<void>
}

/** Throws CorefileError, and leaves nothing behind then. */
export function configure(
  corefile: string,
  context: Omit<PluginContext, 'zones' | 'plugins'>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Configuration {
  const plugins: DnsPlugin[] = []
  const dispose = async () => {
    await Promise.all(plugins.map((plugin) => plugin[Symbol.asyncDispose]()))
  }
  try {
    const blocks = parseCorefile(corefile, environment)
    const chains = blocks.map((block) => chainOf(block, { ...context, plugins: () => plugins }, plugins))
    refuseRepeated(blocks)
    return {
      answer: createAnswerer(chains),
      plugins,
      async start() {
        for (const plugin of plugins) await plugin.start?.()
      },
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    void dispose()
    throw error
  }
}

/** Whatever the order in the Corefile, plugins stand in the order of the list; lines of one plugin in their own. */
function chainOf(block: ServerBlock, context: Omit<PluginContext, 'zones'>, all: DnsPlugin[]): ZoneChain {
  const unknown = block.directives.find(({ name }) => !PLUGINS.some((kind) => kind.name === name))
  if (unknown) throw new CorefileError(unknown.line, `Unknown directive '${unknown.name}'`)
  const zones = block.keys.map((key) => zoneOfKey(block, key))
  const plugins: DnsPlugin[] = []
  for (const kind of PLUGINS) {
    for (const directive of block.directives.filter(({ name }) => name === kind.name)) {
      const plugin = kind.setup(directive, { ...context, zones })
      plugins.push(plugin)
      all.push(plugin)
    }
  }
  return { zones, plugins }
}

/** `dns://example.org:53` -> `example.org`. Where to listen is not for the Corefile to say. */
function zoneOfKey(block: ServerBlock, key: string): string {
  const [, scheme, zone = '', port] = /^(?:([a-z]+):\/\/)?(.*?)(?::(\d+))?$/.exec(key) ?? []
  if (scheme !== undefined && scheme !== 'dns') throw new CorefileError(block.line, `'${key}': only dns:// is served`)
  if (port !== undefined && port !== '53') {
    throw new CorefileError(block.line, `'${key}': this server listens at port 53 only`)
  }
  return zoneOf(block, zone)
}

function refuseRepeated(blocks: readonly ServerBlock[]): void {
  const seen = new Set<string>()
  for (const block of blocks) {
    for (const zone of block.keys.map((key) => zoneOfKey(block, key))) {
      if (seen.has(zone)) throw new CorefileError(block.line, `cannot serve ${zone}. - it is already defined`)
      seen.add(zone)
    }
  }
}
