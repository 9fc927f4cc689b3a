import { mkdir, rename, stat } from 'node:fs/promises'
import { type Instance, logPath } from '../instance.ts'

const MAX_LOG_BYTES = 10 << 20

/** Makes room for the log of a new server: a long one is set aside, once. */
export async function prepareLogFile(instance: Instance): Promise<void> {
  await mkdir(instance.dataDir, { recursive: true, mode: 0o700 })
  const path = logPath(instance)
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`)
}
