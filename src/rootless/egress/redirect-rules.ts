import { formatIP, parseCIDR } from '../../base/ip-address.ts'
import type { NftExpression } from '../../linux/nft-expressions.ts'
import type { NftTransaction } from '../../linux/nft-transaction.ts'
import { encodeValues } from '../../linux/nft-values.ts'

export interface RedirectOptions {
  /** Where connections that leave the cluster go instead. */
  readonly port: number
  readonly inside: readonly string[]
}

const TABLE = { family: 'ip', name: 'sampan-egress' } as const
const TCP = 6
const LOCAL = ['127.0.0.0/8', '224.0.0.0/4']

/** For forwarded connections and for those of this process. */
export function redirectRules(transaction: NftTransaction, { port, inside }: RedirectOptions): NftTransaction {
  transaction.destroyTable(TABLE).addTable(TABLE)
  for (const hook of ['prerouting', 'output'] as const) {
    const chain = { table: TABLE, name: hook }
    transaction.addChain({ ...chain, base: { type: 'nat', hook, priority: -100 } })
    for (const cidr of [...LOCAL, ...inside])
      transaction.addRule(chain, { expressions: [...goesTo(cidr), { expr: 'verdict', verdict: 'return' }] })
    transaction.addRule(chain, {
      comment: 'connections that leave the cluster are carried out by a process',
      expressions: [
        { expr: 'meta', key: 'l4proto', to: 0 },
        { expr: 'compare', from: 0, op: 'eq', value: new Uint8Array([TCP]) },
        { expr: 'immediate', to: 0, value: encodeValues(['inet_service'], [port]) },
        { expr: 'redirect', port: 0 },
      ],
    })
  }
  return transaction
}

function goesTo(cidr: string): NftExpression[] {
  const { family, first, prefixLength } = parseCIDR(cidr)!
  const network = encodeValues(['ipv4_addr'], [formatIP({ family, value: first })])
  const mask = Buffer.alloc(4)
  mask.writeUInt32BE(prefixLength === 0 ? 0 : (0xffffffff << (32 - prefixLength)) >>> 0)
  return [
    { expr: 'payload', base: 'network', offset: 16, length: 4, to: 0 },
    { expr: 'bitwise', from: 0, to: 0, mask, xor: new Uint8Array(4) },
    { expr: 'compare', from: 0, op: 'eq', value: network },
  ]
}
