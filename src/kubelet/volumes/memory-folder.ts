import { chmod, mkdir } from 'node:fs/promises'
import type { Mounter } from '../mounter.ts'

/** What is secret is kept in memory where the node can. */
export async function memoryFolder(mounter: Mounter, directory: string): Promise<void> {
  if (await mkdir(directory, { recursive: true })) await chmod(directory, 0o755)
  if (!mounter.canMount) return
  const mounted = await mounter.mountsUnder(directory)
  if (mounted.includes(directory)) return
  await mounter.mountTmpfs(directory)
  await chmod(directory, 0o755)
}
