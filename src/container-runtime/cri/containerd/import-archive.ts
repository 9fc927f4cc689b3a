import { execFile } from 'node:child_process'
import { RuntimeError } from '../../runtime.ts'

/** containerd's own program for what CRI has no verb for. The names of the images that the archive brought. */
export async function importArchive(ctr: string, socket: string, path: string): Promise<readonly string[]> {
  const args = ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', path]
  const output = await new Promise<string>((resolve, reject) => {
    execFile(ctr, args, { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      const said = stderr.trim().split('\n').at(-1)
      if (error) reject(new RuntimeError('InvalidArgument', `${path}: ${said || error.message}`, { cause: error }))
      else resolve(stdout)
    })
  })
  // "unpacking docker.io/library/busybox:latest (sha256:…)...done", in newer ones without the first word.
  return output.split('\n').flatMap((line) => /^(?:unpacking )?(\S+[:@]\S+)\s/.exec(line)?.[1] ?? [])
}
