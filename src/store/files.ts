/** The file operations the embedded store stands on: the real disk, or a simulated one that loses power. */

export interface StoreFile {
  size(): Promise<number>
  /** Fills the buffer from `position` on; returns how many bytes there were. */
  read(buffer: Buffer, position: number): Promise<number>
  /** Writes the whole buffer. Durable on return only if the file was opened as `durable`. */
  write(buffer: Buffer, position: number): Promise<void>
  /** Makes everything written so far durable. A failure is final: what was written may be gone. */
  sync(): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** `read` and `durable` open an existing file, `create` makes an empty one; `durable` syncs with every write. */
export type OpenMode = 'read' | 'create' | 'durable'

export interface StoreFiles {
  /** The names in a directory; none if it does not exist. */
  list(directory: string): Promise<string[]>
  makeDirectory(directory: string): Promise<void>
  open(path: string, mode: OpenMode): Promise<StoreFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Makes creations, renames and removals in the directory durable. */
  syncDirectory(directory: string): Promise<void>
  /** Keeps other processes out of the directory until the returned function is called. */
  lock(directory: string): Promise<() => Promise<void>>
}

/** Reads a whole file into one buffer of its own. */
export async function readWhole(files: StoreFiles, path: string): Promise<Buffer> {
  const file = await files.open(path, 'read')
  try {
    const buffer = Buffer.allocUnsafeSlow(await file.size())
    return buffer.subarray(0, await file.read(buffer, 0))
  } finally {
    await file.close()
  }
}
