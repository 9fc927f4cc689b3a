import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/** Replaces a file as a whole: a reader, or a crash at any moment, sees the old content or the new, never a part. */
export async function writeFileAtomically(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
