import type { IPFamily } from '../../base/ip-address.ts'
import { legacyTableNames, legacyTablesFingerprint } from '../../linux/legacy-tables.ts'
import type { CommandPlace } from './iptables-commands.ts'

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']

const within = <T>({ linux, namespace }: CommandPlace, work: () => T): T =>
  namespace ? linux.namespaces.inNamespace(namespace, work) : work()

/** The families that have legacy tables. */
export const legacyTables = (place: CommandPlace): readonly IPFamily[] =>
  within(place, () => FAMILIES.filter((family) => legacyTableNames(family).includes('nat')))

/** Undefined where it cannot be told, for instance because the tables change just now. */
export function legacyFingerprint(place: CommandPlace, family: IPFamily): string | undefined {
  try {
    return within(place, () => legacyTablesFingerprint(family))
  } catch {
    return undefined
  }
}
