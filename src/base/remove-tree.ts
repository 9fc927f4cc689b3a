import { chmod, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** Removes a folder with all in it, also folders that their owner forbade himself to enter. Nothing there is no error. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    await allowEntering(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

async function allowEntering(folder: string): Promise<void> {
  await chmod(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await allowEntering(path.join(folder, entry.name))
}
