/** iptables as it was before nftables. The kernel tells nobody when it changes: who wants to know looks at all of it. */
import { createHash, type Hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IPFamily } from '../base/ip-address.ts'
import { type LinuxCalls, linuxCalls } from './ffi.ts'
import { checked } from './system-error.ts'

const SOCK_RAW = 3
const SOCK_CLOEXEC = 0o2000000
const IPPROTO_RAW = 255
const SO_GET_INFO = 64
const SO_GET_ENTRIES = 65
/** struct ipt_getinfo: the name, hooks and underflows, the number of entries, and their size in bytes. */
const NAME_LENGTH = 32
const INFO_LENGTH = 84
/** struct ipt_get_entries: the name and the size, then the entries. */
const ENTRIES_AT = 40
const COUNTERS_LENGTH = 16

interface FamilyLayout {
  /** Of the thread: namespaces are entered by threads. */
  readonly file: string
  readonly domain: number
  readonly level: number
  /** Where an entry says how long it is, and where it counts packets. */
  readonly nextOffset: number
  readonly counters: number
}

const LAYOUTS: Readonly<Record<IPFamily, FamilyLayout>> = {
  IPv4: { file: '/proc/thread-self/net/ip_tables_names', domain: 2, level: 0, nextOffset: 90, counters: 96 },
  IPv6: { file: '/proc/thread-self/net/ip6_tables_names', domain: 10, level: 41, nextOffset: 142, counters: 152 },
}

/** The tables that the network namespace of the thread has. Asking iptables itself would make them. */
export function legacyTableNames(family: IPFamily): readonly string[] {
  try {
    return readFileSync(LAYOUTS[family].file, 'utf8').split('\n').filter(Boolean).sort()
  } catch {
    return []
  }
}

/** Another one whenever a rule is another one; what the kernel counts makes no difference. Needs root. */
export function legacyTablesFingerprint(family: IPFamily): string {
  const names = legacyTableNames(family)
  if (names.length === 0) return ''
  const calls = linuxCalls()
  const fd = checked(calls.socket(LAYOUTS[family].domain, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW), 'raw socket')
  try {
    const hash = createHash('sha1')
    for (const name of names) hashTable(calls, fd, LAYOUTS[family], name, hash)
    return hash.digest('hex')
  } finally {
    calls.close(fd)
  }
}

function hashTable(calls: LinuxCalls, fd: number, layout: FamilyLayout, name: string, hash: Hash): void {
  const info = Buffer.alloc(INFO_LENGTH)
  info.write(name, 0, NAME_LENGTH - 1, 'latin1')
  checked(calls.getsockopt(fd, layout.level, SO_GET_INFO, info), `table ${name}`)
  const size = info.readUInt32LE(INFO_LENGTH - 4)
  const entries = Buffer.alloc(ENTRIES_AT + size)
  entries.write(name, 0, NAME_LENGTH - 1, 'latin1')
  entries.writeUInt32LE(size, NAME_LENGTH)
  // Refused with EAGAIN if it has another size by now.
  checked(calls.getsockopt(fd, layout.level, SO_GET_ENTRIES, entries), `entries of ${name}`)
  for (let at = ENTRIES_AT; at < entries.length; ) {
    const length = entries.readUInt16LE(at + layout.nextOffset)
    if (length === 0) throw new Error(`an entry of ${name} has no length`)
    entries.fill(0, at + layout.counters, at + layout.counters + COUNTERS_LENGTH)
    at += length
  }
  hash.update(info).update(entries)
}
