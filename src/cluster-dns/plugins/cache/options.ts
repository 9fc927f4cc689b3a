import { duration, oneOf, unknownOption, wholeNumber, zoneOf } from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'

export interface CacheOptions {
  /** Names of other zones are not kept. */
  readonly zones: readonly string[]
  readonly success: CacheShare
  readonly denial: CacheShare
  /** Seconds a failure is kept. */
  readonly failureTtl: number
  /** Milliseconds for which what has run out is still told, if nothing newer can be had. */
  readonly stale: number
  /** Zones whose answers are not kept. */
  readonly disabled: { readonly success: readonly string[]; readonly denial: readonly string[] }
}

interface CacheShare {
  /** How many answers; the oldest go first. */
  readonly capacity: number
  /** Seconds, at most and at least. */
  readonly ttl: number
  readonly minTtl: number
}

export const DEFAULT_CACHE: CacheOptions = {
  zones: [''],
  success: { capacity: 9984, ttl: 3600, minTtl: 5 },
  denial: { capacity: 9984, ttl: 1800, minTtl: 5 },
  failureTtl: 5,
  stale: 0,
  disabled: { success: [], denial: [] },
}

/** `cache [TTL] [ZONES...] { success CAPACITY [TTL] [MINTTL] ... }` */
export function cacheOptions(directive: Directive, blockZones: readonly string[]): CacheOptions {
  const [first, ...rest] = directive.args
  const hasTtl = first !== undefined && /^\d+$/.test(first)
  const zones = (hasTtl ? rest : directive.args).map((zone) => zoneOf(directive, zone))
  const ttl = hasTtl ? { ttl: Number(first) } : {}
  const start: CacheOptions = {
    ...DEFAULT_CACHE,
    zones: zones.length > 0 ? zones : blockZones,
    success: { ...DEFAULT_CACHE.success, ...ttl },
    denial: { ...DEFAULT_CACHE.denial, ...ttl },
  }
  return directive.options.reduce(withOption, start)
}

function withOption(options: CacheOptions, option: Directive): CacheOptions {
  switch (option.name) {
    case 'success':
    case 'denial':
      return { ...options, [option.name]: shareOf(option, options[option.name]) }
    case 'servfail':
      return { ...options, failureTtl: duration(option, option.args[0]) / 1000 }
    case 'serve_stale':
      return { ...options, stale: option.args.length > 0 ? duration(option, option.args[0]) : 3_600_000 }
    case 'disable': {
      const what = oneOf(option, option.args[0], ['success', 'denial'])
      const zones = option.args.slice(1).map((zone) => zoneOf(option, zone))
      return { ...options, disabled: { ...options.disabled, [what]: zones.length > 0 ? zones : [''] } }
    }
    case 'prefetch':
    case 'keepttl':
      return options
    default:
      return unknownOption('cache', option)
  }
}

function shareOf(option: Directive, share: CacheShare): CacheShare {
  const [capacity, ttl, minTtl] = option.args.map((arg) => wholeNumber(option, arg))
  return { capacity: capacity ?? share.capacity, ttl: ttl ?? share.ttl, minTtl: minTtl ?? share.minTtl }
}
