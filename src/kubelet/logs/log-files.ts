import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { O_FOLDER, type Opened, openBeneath, openFileBeneath, openFolder } from '../../linux/beneath.ts'

/** A container's log. A pod with a hostPath may have put links between the logs of the node: none is followed. */
export interface LogFile {
  /** The folder of the logs of all pods. */
  readonly podLogsDir: string
  /** The path of the log, in that folder. */
  readonly file: string
}

/** Undefined where there is no such log. */
export async function openLog({ podLogsDir, file }: LogFile): Promise<FileHandle | undefined> {
  using root = await openFolder(podLogsDir)
  return await openFileBeneath(root.descriptor, path.relative(podLogsDir, file))
}

/** The folder that a log is in. */
export async function openLogFolder({ podLogsDir, file }: LogFile): Promise<Opened> {
  using root = await openFolder(podLogsDir)
  return await openBeneath(root.descriptor, path.relative(podLogsDir, path.dirname(file)), { flags: O_FOLDER })
}
