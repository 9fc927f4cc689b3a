import { chmod, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** Removes a folder with all in it, also folders that their owner forbade himself to enter. Nothing there is no error. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error
    await allowEntering(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

/** The removal that failed goes on in other folders for a while: what it has reached by now is gone. */
async function allowEntering(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700)
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isDirectory()) await allowEntering(path.join(folder, entry.name))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
