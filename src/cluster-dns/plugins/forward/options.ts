import { parseIP } from '../../../base/ip-address.ts'
import { CorefileError } from '../../corefile/corefile-error.ts'
import {
  duration,
  hostAndPort,
  noArguments,
  oneOf,
  unknownOption,
  wholeNumber,
  zoneOf,
} from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'
import type { UpstreamAddress } from './upstream.ts'

export interface ForwardOptions {
  /** Which names are passed on; the empty name stands for all. */
  readonly from: string
  readonly to: readonly UpstreamAddress[]
  /** Names that are not passed on although `from` says so. */
  readonly except: readonly string[]
  readonly policy: (typeof POLICIES)[number]
  readonly forceTcp: boolean
  readonly preferUdp: boolean
  /** Milliseconds one server has for its answer. */
  readonly timeout: number
  /** 0: as many as there can be sockets for. */
  readonly maxConcurrent: number
  /** So many silences in a row, and a server is left aside until it answers a health check; 0: never. */
  readonly maxFails: number
  /** Milliseconds between health checks; 0: none. */
  readonly healthCheck: number
}

const POLICIES = ['random', 'round_robin', 'sequential'] as const
const DNS_PORT = 53

export const DEFAULT_FORWARD: Omit<ForwardOptions, 'from' | 'to'> = {
  except: [],
  policy: 'random',
  forceTcp: false,
  preferUdp: false,
  timeout: 2000,
  maxConcurrent: 0,
  maxFails: 2,
  healthCheck: 500,
}

/** `forward FROM TO... { except ZONES...; policy random; ... }` */
export function forwardOptions(directive: Directive, resolvConf: readonly string[]): ForwardOptions {
  const [from, ...to] = directive.args
  if (from === undefined || to.length === 0)
    throw new CorefileError(directive.line, "'forward' wants a zone and servers")
  const start: ForwardOptions = {
    ...DEFAULT_FORWARD,
    from: zoneOf(directive, from),
    to: to.flatMap((text) => addressesOf(directive, text, resolvConf)),
  }
  return directive.options.reduce(withOption, start)
}

/** A file stands for the name servers of the node, wherever they were read. */
function addressesOf(directive: Directive, text: string, resolvConf: readonly string[]): UpstreamAddress[] {
  if (text.startsWith('/')) return resolvConf.map((host) => ({ host, port: DNS_PORT }))
  if (text.startsWith('tls://')) throw new CorefileError(directive.line, `'${text}': only plain DNS is forwarded`)
  const address = hostAndPort(directive, text.replace(/^dns:\/\//, ''), { host: '', port: DNS_PORT })
  if (!parseIP(address.host)) throw new CorefileError(directive.line, `not an IP address or file: '${text}'`)
  return [address]
}

function withOption(options: ForwardOptions, option: Directive): ForwardOptions {
  const [first] = option.args
  switch (option.name) {
    case 'except':
      return { ...options, except: [...options.except, ...option.args.map((zone) => zoneOf(option, zone))] }
    case 'policy':
      return { ...options, policy: oneOf(option, first, POLICIES) }
    case 'max_concurrent':
      return { ...options, maxConcurrent: wholeNumber(option, first) }
    case 'max_fails':
      return { ...options, maxFails: wholeNumber(option, first) }
    case 'health_check':
      return { ...options, healthCheck: duration(option, first) }
    case 'force_tcp':
      noArguments(option)
      return { ...options, forceTcp: true }
    case 'prefer_udp':
      noArguments(option)
      return { ...options, preferUdp: true }
    // Connections are not kept, so that there is nothing to expire.
    case 'expire':
      duration(option, first)
      return options
    default:
      return unknownOption('forward', option)
  }
}
