import { kernelLinux } from '../linux/kernel-linux.ts'

/** Whether the kernel answers questions about nftables; undefined if it answers root alone. */
export function hasNftables(): boolean | undefined {
  if (process.platform !== 'linux') return false
  if (process.getuid?.() !== 0) return undefined
  try {
    const nftables = kernelLinux().openNftables()
    try {
      nftables.tables()
      return true
    } finally {
      nftables[Symbol.dispose]()
    }
  } catch {
    return false
  }
}
