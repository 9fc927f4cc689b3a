import { mkdir } from 'node:fs/promises'
import type { Mounter } from '../mounter.ts'

/** What is secret is kept in memory where the node can. */
export async function memoryFolder(mounter: Mounter, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  if (!mounter.canMount) return
  const mounted = await mounter.mountsUnder(directory)
  if (!mounted.includes(directory)) await mounter.mountTmpfs(directory)
}
