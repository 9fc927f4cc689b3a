import type { NftExpression } from '../../linux/nft-expressions.ts'
import type { LocalTrafficDetector } from '../backend.ts'
import { type Layout, source } from './layout.ts'

/** Matches packets that pods sent; undefined if that cannot be told. */
export function isPodTraffic(layout: Layout, detector: LocalTrafficDetector): NftExpression[] | undefined {
  return matcher(layout, detector, false)
}

/** Matches packets of everyone else: the node itself and the outside. */
export function isForeignTraffic(layout: Layout, detector: LocalTrafficDetector): NftExpression[] | undefined {
  return matcher(layout, detector, true)
}

function matcher(layout: Layout, detector: LocalTrafficDetector, inverted: boolean): NftExpression[] | undefined {
  switch (detector.by) {
    case 'cidr':
      return [source(layout), { expr: 'lookup', set: 'pod-cidrs', from: 0, ...(inverted && { inverted }) }]
    case 'bridge':
      return interfaceMatch(interfaceName(detector.name), inverted)
    case 'interface-prefix':
      return interfaceMatch(Buffer.from(detector.prefix, 'utf8'), inverted)
    case 'none':
      return undefined
  }
}

/** Only as many bytes as there are to compare: a shorter value is a prefix. */
const interfaceMatch = (value: Uint8Array, inverted: boolean): NftExpression[] => [
  { expr: 'meta', key: 'iifname', to: 0 },
  { expr: 'compare', from: 0, op: inverted ? 'ne' : 'eq', value },
]

/** A whole name is compared with all the bytes that a name has. */
function interfaceName(name: string): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.write(name, 0, 15)
  return bytes
}
