/** A plain user, with no rights and nothing set up: real pods behind a Service all the same. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { kubectl } from '../tools/kubectl.ts'
import { CLI, eventually, Machine } from '../tools/machine.ts'

const USER = 54_322

asRoot('without root', () => {
  let machine: Machine
  let home: string
  let program: string
  let kubectlPath: string
  beforeAll(async () => {
    machine = new Machine()
    home = mkdtempSync(path.join(tmpdir(), 'sampan-plain-user-'))
    chmodSync(home, 0o755)
    chownSync(home, USER, USER)
    program = copyProgram(home)
    kubectlPath = path.join(home, 'kubectl')
    copyFileSync(await kubectl('1.36'), kubectlPath)
  })
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  })

  const id = String(USER)
  const drop = ['--reuid', id, '--regid', id, '--clear-groups', '--bounding-set=-all', '--inh-caps=-all']
  const asUser = (...command: string[]) => {
    const env = [`HOME=${home}`, `TMPDIR=${home}`, `XDG_DATA_HOME=${home}/data`, `KUBECONFIG=${home}/kubeconfig`]
    return machine.must('setpriv', ...drop, 'env', ...env, ...command)
  }
  const ask = (...args: string[]) => asUser(kubectlPath, ...args)

  test('pods run, and find each other by name', async () => {
    expect(await asUser(process.execPath, program, 'up', '--detach', '--demo', '--api-port', '0')).toContain(
      'The demo runs',
    )
    const pods = (await ask('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ')
    expect(pods).toHaveLength(3)
    const script = "fetch('http://hostnames').then((r) => r.text()).then(console.log)"
    const seen = new Set<string>()
    await eventually(
      async () => seen.add((await ask('exec', pods[0]!, '--', 'node', '-e', script)).trim()),
      () => seen.size === 3,
    )
    expect([...seen].sort()).toEqual(pods.sort())
  })

  test('down leaves no process', async () => {
    await asUser(process.execPath, program, 'down', '--delete')
    await eventually(
      async () => processesOf(USER),
      (left) => left.length === 0,
    )
    expect(readdirSync(path.join(home, 'data', 'sampan'))).toEqual([])
  })
})

/** The checkout may be in a folder that only root can read: the user gets the package as npm would install it. */
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

/** Those that have ended and only wait to be noticed do not count. */
function processesOf(user: number): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const status = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/status`, 'utf8') : ''
      return status.includes(`\nUid:\t${user}\t`) && !status.includes('\nState:\tZ')
    } catch {
      return false
    }
  })
}
