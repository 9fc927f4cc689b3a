import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { RuntimeError } from '../../runtime.ts'

const GZIP = Buffer.from([0x1f, 0x8b])

/**
 * containerd's own program for what CRI has no verb for: a docker-archive or OCI-layout tar file, perhaps compressed, or an
 * OCI-layout folder. The names of the images that it brought.
 */
export async function importArchive(ctr: string, socket: string, path: string): Promise<readonly string[]> {
  const { isFolder, isCompressed } = await kindOf(path)
  const source = isFolder ? folderAsTar(path) : createReadStream(path)
  const args = ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', '-']
  const child = spawn(ctr, args, { stdio: 'pipe' })
  const ended = outputOf(child.stdout, child.stderr, (listener) => child.once('close', listener))
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  // A program that has seen enough stops reading; what it says counts.
  const sending = pipeline([source, ...(isCompressed ? [createGunzip()] : []), child.stdin]).catch(
    (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? undefined : error),
  )
  const { code, stdout, stderr } = await Promise.race([ended, failed])
  const problem = (await sending)?.message ?? stderr.trim().split('\n').at(-1)
  if (code !== 0) throw new RuntimeError('InvalidArgument', `${path}: ${problem || `ctr ended with ${code}`}`)
  // "unpacking docker.io/library/busybox:latest (sha256:…)...done", in newer ones without the first word.
  return stdout.split('\n').flatMap((line) => /^(?:unpacking )?(\S+[:@]\S+)\s/.exec(line)?.[1] ?? [])
}

async function kindOf(path: string): Promise<{ isFolder: boolean; isCompressed: boolean }> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new RuntimeError('NotFound', `${path}: ${error.code}`, { cause: error })
  })
  if (found.isDirectory()) return { isFolder: true, isCompressed: false }
  await using file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
  return { isFolder: false, isCompressed: buffer.equals(GZIP) }
}

const folderAsTar = (path: string): Readable =>
  spawn('tar', ['-C', path, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'ignore'] }).stdout!

function outputOf(
  stdout: Readable,
  stderr: Readable,
  onClose: (listener: (code: number | null) => void) => void,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' }
  stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text
  })
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text
  })
  return new Promise((resolve) => onClose((code) => resolve({ code, ...said })))
}
