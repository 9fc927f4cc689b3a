import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { formatIPv4 } from '../../base/ip-address.ts'

/** User id of a process. */
export const ownerOf = async (pid: number): Promise<number> => (await stat(`/proc/${pid}`)).uid

/** What the descriptors of a process are: paths, `socket:[4711]`. */
export async function descriptorsOf(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => [])
  return Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
}

const LISTEN = '0A'

/** Where a process listens by TCP: `127.0.0.1:6443`; IPv6 addresses as the kernel writes them. */
export async function listenersOf(pid: number): Promise<string[]> {
  const own = new Set((await descriptorsOf(pid)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8').catch(() => '')),
  )
  return tables.flatMap((table) =>
    table
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTEN && own.has(inode ?? ''))
      .map(([, local = '']) => addressOf(local)),
  )
}

/** `0100007F:192B`: the bytes of the address are those of a little-endian machine. */
function addressOf(local: string): string {
  const [address = '', port = ''] = local.split(':')
  const isIPv4 = address.length === 8
  const host = isIPv4 ? formatIPv4(Buffer.from(address, 'hex').readUInt32LE(0)) : `[${address}]`
  return `${host}:${Number.parseInt(port, 16)}`
}
