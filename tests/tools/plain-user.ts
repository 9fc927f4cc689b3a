/** A user without any rights, who has the package as npm would install it. */
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CLI } from './machine.ts'

export class PlainUser implements Disposable {
  readonly id: number
  readonly home = mkdtempSync(path.join(tmpdir(), 'sampan-plain-user-'))
  /** The command line tool. */
  readonly program: string

  constructor(id: number) {
    this.id = id
    chmodSync(this.home, 0o755)
    chownSync(this.home, id, id)
    this.program = copyProgram(this.home)
  }

  /** The command, to be run as this user. */
  command(...command: readonly string[]): [string, ...string[]] {
    const id = String(this.id)
    const { home } = this
    const drop = ['--reuid', id, '--regid', id, '--clear-groups', '--bounding-set=-all', '--inh-caps=-all']
    const env = [`HOME=${home}`, `TMPDIR=${home}`, `XDG_DATA_HOME=${home}/data`, `KUBECONFIG=${home}/kubeconfig`]
    return ['setpriv', ...drop, 'env', ...env, ...command]
  }

  /** Those that have ended and only wait to be noticed do not count. */
  processes(): string[] {
    return readdirSync('/proc').filter((pid) => {
      try {
        const status = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/status`, 'utf8') : ''
        return status.includes(`\nUid:\t${this.id}\t`) && !status.includes('\nState:\tZ')
      } catch {
        return false
      }
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** The checkout may be in a folder that only root can read. */
function copyProgram(home: string): string {
  const root = path.resolve(path.dirname(CLI), '..', '..')
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>
  }
  const needed = Object.entries(lock.packages).filter(
    ([name, entry]) => name !== '' && !entry.dev && !entry.devOptional,
  )
  for (const name of ['dist', 'package.json', ...needed.map(([folder]) => folder)]) {
    if (!existsSync(path.join(root, name))) continue
    cpSync(path.join(root, name), path.join(home, 'package', name), { recursive: true, dereference: true })
  }
  return path.join(home, 'package', 'dist', 'bin', 'sampan.js')
}
