/**
 * Which addresses a server connects to on behalf of others. A name is judged by the address that is connected to, at the
 * moment of connecting: what a name stands for can change between a check and its use.
 */
import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { type IPAddress, isGlobalUnicast, isLoopback, parseIP, unmapped } from './ip-address.ts'

type Rule = (ip: IPAddress) => boolean

/** Other machines only: neither this machine, nor its link, nor many at once. */
const isElsewhere: Rule = isGlobalUnicast
/** Also this machine itself, for what only administrators write. */
const isElsewhereOrHere: Rule = (ip) => isGlobalUnicast(ip) || isLoopback(unmapped(ip))

export interface AllowedAddress {
  /** Whether a host may be connected to, as far as can be told without asking for its address. */
  allows(host: string): boolean
  /** For `net.connect` and its like: fails if no allowed address stands behind a name. */
  readonly lookup: LookupFunction
}

const NOT_ALLOWED = 'address not allowed'

function ruleOf(isAllowed: Rule): AllowedAddress {
  return {
    allows(host) {
      const ip = parseIP(host)
      return ip === undefined ? host !== '' && !host.includes('%') : isAllowed(ip)
    },
    lookup(name, options, callback) {
      lookup(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
        if (error) return callback(error, '')
        const allowed = found.filter(({ address }) => {
          const ip = parseIP(address)
          return ip !== undefined && isAllowed(ip)
        })
        const [first] = allowed
        if (!first) callback(new Error(NOT_ALLOWED), '')
        else if (options.all) callback(null, allowed)
        else callback(null, first.address, first.family)
      })
    },
  }
}

export const ELSEWHERE = ruleOf(isElsewhere)
export const ELSEWHERE_OR_HERE = ruleOf(isElsewhereOrHere)
