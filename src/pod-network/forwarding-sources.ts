import { type CIDR, formatCIDR, parseCIDR, parseIP } from '../base/ip-address.ts'

/** Interfaces and CIDRs whose packets pass. */
export interface Sources {
  readonly links: readonly string[]
  readonly cidrs: readonly string[]
}

const LINK_NAME = /^[^\s/:]{1,15}$/

/** Reads `eth1`, `192.0.2.7` and `192.0.2.0/24`. Throws on what is none of these. */
export function parseSources(texts: readonly string[]): Sources {
  const links: string[] = []
  const cidrs: string[] = []
  for (const text of texts) {
    const cidr = asCIDR(text)
    if (cidr) cidrs.push(formatCIDR(cidr))
    else if (LINK_NAME.test(text) && text !== '.' && text !== '..' && !/^[\d.]+$/.test(text)) links.push(text)
    else throw new Error(`${text} is neither a CIDR nor the name of an interface`)
  }
  return { links, cidrs }
}

const asCIDR = (text: string): CIDR | undefined => {
  const ip = parseIP(text)
  return parseCIDR(ip ? `${text}/${ip.family === 'IPv4' ? 32 : 128}` : text)
}
