/** What is still there of a node that should have left nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { nodeCgroupRoot } from '../../src/cluster/node/node-settings.ts'

/** Folders of the node's cgroup in all hierarchies, and what is in them. */
export function cgroupsOf(nodeDir: string): string[] {
  const name = nodeCgroupRoot(nodeDir).slice(1)
  const hierarchies = foldersIn('/sys/fs/cgroup').map((folder) => `/sys/fs/cgroup/${folder}`)
  const roots = ['/sys/fs/cgroup', ...hierarchies].map((root) => `${root}/${name}`)
  return roots.filter((folder) => existsSync(folder)).flatMap(withFoldersBelow)
}

const withFoldersBelow = (folder: string): string[] => [
  folder,
  ...foldersIn(folder).flatMap((name) => withFoldersBelow(`${folder}/${name}`)),
]

const foldersIn = (folder: string) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

/** Command lines of processes that have the text in them. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && pid !== String(process.pid))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return command.includes(text) ? [command] : []
      } catch {
        return []
      }
    })
}

export const mountsBelow = (folder: string) =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(folder))
