/** What `iptables-save` prints, read: tables, their chains, and each chain's rules without its name. */
import { isPortChain } from './chain-names.ts'
import { LOCALNET_CHAIN } from './localnet.ts'
import { JUMPS, TABLES, type TableName } from './skeleton.ts'

export type SavedTables = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

export function parseSaved(text: string): SavedTables {
  const tables = new Map<string, Map<string, string[]>>()
  let chains = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    if (line.startsWith('*')) {
      chains = new Map()
      tables.set(line.slice(1).trim(), chains)
    } else if (line.startsWith(':')) chains.set(line.slice(1, line.indexOf(' ')), [])
    else if (line.startsWith('-A ')) {
      const end = line.indexOf(' ', 3)
      chains.get(line.slice(3, end))?.push(line.slice(end + 1).trim())
    }
  }
  return tables
}

const OWN_CHAINS = new Set([
  LOCALNET_CHAIN,
  'KUBE-SERVICES',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-POSTROUTING',
  'KUBE-MARK-MASQ',
  'KUBE-MARK-FOREIGN',
  'KUBE-FORWARD',
  'KUBE-PROXY-FIREWALL',
  'KUBE-PROXY-CANARY',
  'KUBE-PROXY-REJECT',
  'KUBE-CLUSTER-IPS',
])

export const isOwnChain = (name: string) => OWN_CHAINS.has(name) || isPortChain(name)

export const ownChains = (saved: SavedTables, table: TableName): string[] =>
  [...(saved.get(table)?.keys() ?? [])].filter(isOwnChain)

export const hasOwnChains = (saved: SavedTables) => TABLES.some((table) => ownChains(saved, table).length > 0)

interface FoundJump {
  readonly from: string
  readonly to: string
  readonly rule: string
}

/** The rules of the kernel's own chains, and of others, that lead to ours. */
export function jumpsToOwn(saved: SavedTables, table: TableName): FoundJump[] {
  const found: FoundJump[] = []
  for (const [from, rules] of saved.get(table) ?? []) {
    if (isOwnChain(from)) continue
    for (const rule of rules) {
      const to = / -j (\S+)/.exec(` ${rule}`)?.[1]
      if (to !== undefined && isOwnChain(to)) found.push({ from, to, rule })
    }
  }
  return found
}

/** Each wanted jump is there once, in order, and no other. */
export function hasWantedJumps(saved: SavedTables, table: TableName): boolean {
  const wanted = JUMPS.filter((jump) => jump.table === table).map(({ from, to }) => `${from} ${to}`)
  const found = jumpsToOwn(saved, table).map(({ from, to }) => `${from} ${to}`)
  return wanted.length === found.length && [...wanted].sort().join() === [...found].sort().join()
}
