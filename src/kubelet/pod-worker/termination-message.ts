import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import type { Pod } from '../../api/generated/core-v1.ts'
import type { ContainerStatus } from '../../container-runtime/runtime.ts'
import { openFileBeneath, openFolder } from '../../linux/beneath.ts'
import { openLog } from '../logs/log-files.ts'
import { containerName } from '../pod/runtime-pod.ts'
import { terminationFile } from './pod-paths.ts'

const MAX_MESSAGE = 4096
const MAX_LOG_MESSAGE = 2048
const MAX_LOG_LINES = 80

/** The last words of a container: what it left in its file, or the end of its log where it asked for that. */
export async function terminationMessage(
  { rootDir, podLogsDir, uid }: { readonly rootDir: string; readonly podLogsDir: string; readonly uid: string },
  pod: Pod | undefined,
  status: ContainerStatus,
): Promise<string | undefined> {
  const name = containerName(status)
  const written = await tail(await openMessage(terminationFile(rootDir, uid, name, status.attempt)), MAX_MESSAGE)
  if (written) return written
  const all = [...(pod?.spec?.containers ?? []), ...(pod?.spec?.initContainers ?? [])]
  const policy = all.find((one) => one.name === name)?.terminationMessagePolicy
  if (policy !== 'FallbackToLogsOnError' || (status.exitCode ?? 0) === 0) return undefined
  const log = await tail(
    await openLog({ podLogsDir, file: status.logPath }).catch(() => undefined),
    MAX_LOG_MESSAGE * 4,
  )
  return log === undefined ? undefined : lastLogLines(log)
}

/** The text of CRI log lines: time, stream and tag taken away. */
function lastLogLines(log: string): string {
  const lines = log.split('\n').filter((line) => /^\S+ (stdout|stderr) /.test(line))
  const text = lines
    .slice(-MAX_LOG_LINES)
    .map((line) => {
      const [, , tag = ''] = line.split(' ', 3)
      const message = line.split(' ').slice(3).join(' ')
      return tag.startsWith('P') ? message : `${message}\n`
    })
    .join('')
  return text.slice(-MAX_LOG_MESSAGE)
}

/** The container writes to the file, and cannot replace it: it is mounted. */
async function openMessage(file: string): Promise<FileHandle | undefined> {
  using folder = await openFolder(path.dirname(file)).catch(() => undefined)
  return folder && (await openFileBeneath(folder.descriptor, path.basename(file)).catch(() => undefined))
}

async function tail(handle: FileHandle | undefined, limit: number): Promise<string | undefined> {
  if (!handle) return undefined
  try {
    const { size } = await handle.stat()
    const length = Math.min(size, limit)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
