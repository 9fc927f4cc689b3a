import { readFileSync } from 'node:fs'
import type { IPFamily } from '../../base/ip-address.ts'
import type { CommandPlace } from './iptables-commands.ts'

/** Of the thread: namespaces are entered by threads. */
const FILES: Readonly<Record<IPFamily, string>> = {
  IPv4: '/proc/thread-self/net/ip_tables_names',
  IPv6: '/proc/thread-self/net/ip6_tables_names',
}

/** The families that have legacy tables. Asking iptables itself would make them. */
export function legacyTables({ linux, namespace }: CommandPlace): readonly IPFamily[] {
  const find = () => (Object.keys(FILES) as IPFamily[]).filter((family) => /\bnat\b/.test(contents(FILES[family])))
  return namespace ? linux.namespaces.inNamespace(namespace, find) : find()
}

function contents(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
