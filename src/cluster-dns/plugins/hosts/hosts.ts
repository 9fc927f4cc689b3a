/** Names from a file like /etc/hosts, and from lines in the Corefile itself. */
import { readFileSync } from 'node:fs'
import type { Timer } from '../../../base/clock.ts'
import { formatIP, parseIP } from '../../../base/ip-address.ts'
import { duration, unknownOption, wholeNumber, zoneOf } from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'
import { type DnsPlugin, emptyReply, type PluginContext, type PluginKind } from '../../plugin.ts'
import { CLASS_IN, RCODES, TYPES } from '../../wire/constants.ts'
import type { DnsRecord, Question } from '../../wire/message.ts'
import { isWithin } from '../../wire/names.ts'
import { addressOfReverseName } from '../../wire/reverse-names.ts'

interface HostsOptions {
  readonly file: string
  readonly zones: readonly string[]
  readonly lines: readonly string[]
  readonly ttl: number
  readonly reverse: boolean
  readonly reload: number
  readonly fallthrough: readonly string[] | undefined
}

export const hostsKind: PluginKind = {
  name: 'hosts',
  setup: (directive, context) => hostsPlugin(optionsOf(directive, context.zones), context),
}

function optionsOf(directive: Directive, blockZones: readonly string[]): HostsOptions {
  const [file = '/etc/hosts', ...zones] = directive.args
  const options = { ttl: 3600, reverse: true, reload: 5000, fallthrough: undefined as readonly string[] | undefined }
  const lines: string[] = []
  for (const option of directive.options) {
    if (option.name === 'ttl') options.ttl = wholeNumber(option, option.args[0])
    else if (option.name === 'no_reverse') options.reverse = false
    else if (option.name === 'reload') options.reload = duration(option, option.args[0])
    else if (option.name === 'fallthrough') options.fallthrough = zonesOf(option, option.args, [''])
    else if (parseIP(option.name)) lines.push([option.name, ...option.args].join(' '))
    else unknownOption('hosts', option)
  }
  return { ...options, file, zones: zonesOf(directive, zones, blockZones), lines }
}

const zonesOf = (directive: Directive, args: readonly string[], otherwise: readonly string[]) =>
  args.length > 0 ? args.map((zone) => zoneOf(directive, zone)) : otherwise

interface HostTable {
  readonly addresses: ReadonlyMap<string, readonly string[]>
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** `10.0.0.1 a b # comment`, line by line. */
export function parseHosts(lines: readonly string[]): HostTable {
  const addresses = new Map<string, string[]>()
  const names = new Map<string, string[]>()
  const add = (map: Map<string, string[]>, key: string, value: string) => {
    const known = map.get(key)
    if (!known) map.set(key, [value])
    else if (!known.includes(value)) known.push(value)
  }
  for (const line of lines) {
    const [address = '', ...hosts] = line.replace(/#.*/, '').trim().split(/\s+/)
    const ip = parseIP(address)
    if (!ip) continue
    for (const host of hosts) {
      const name = zoneOf({ line: 0 }, host)
      add(addresses, name, formatIP(ip))
      add(names, formatIP(ip), name)
    }
  }
  return { addresses, names }
}

function hostsPlugin(options: HostsOptions, { clock, log }: PluginContext): DnsPlugin {
  let text: string | undefined
  let table: HostTable = parseHosts(options.lines)
  let timer: Timer | undefined

  function read(): void {
    let now = ''
    try {
      now = readFileSync(options.file, 'utf8')
    } catch (error) {
      if (text === undefined) log.warn('no hosts file', { file: options.file, error })
    }
    if (now !== text) table = parseHosts([...options.lines, ...now.split('\n')])
    text = now
    if (options.reload > 0) timer = clock.after(options.reload, read).unref()
  }
  read()

  return {
    name: 'hosts',
    answer({ question }, next) {
      if (question.class !== CLASS_IN || !options.zones.some((zone) => isWithin(question.name, zone))) return next()
      const answers = recordsOf(question, table, options)
      if (answers?.length) return { ...emptyReply(RCODES.NOERROR, true), answers }
      // A name that has an address of the other family exists, whoever else might be asked.
      if (answers) return emptyReply(RCODES.NOERROR, true)
      const passes = options.fallthrough?.some((zone) => isWithin(question.name, zone))
      return passes ? next() : emptyReply(RCODES.NXDOMAIN, true)
    },
    async [Symbol.asyncDispose]() {
      timer?.cancel()
    },
  }
}

/** Undefined where the name is not known. */
function recordsOf(question: Question, table: HostTable, options: HostsOptions): DnsRecord[] | undefined {
  const { name, type } = question
  const { ttl } = options
  const address = options.reverse && type === TYPES.PTR ? addressOfReverseName(name) : undefined
  const ip = address === undefined ? undefined : parseIP(address)
  if (ip) {
    return table.names.get(formatIP(ip))?.map((target) => ({ name, ttl, data: { type: 'PTR', target } }))
  }
  const addresses = table.addresses.get(name)
  return addresses?.flatMap((known): DnsRecord[] => {
    const family = known.includes(':') ? 'AAAA' : 'A'
    return TYPES[family] === type ? [{ name, ttl, data: { type: family, address: known } }] : []
  })
}
