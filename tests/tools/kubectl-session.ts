import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { type Ran, runProgram } from './cluster.ts'
import { kubectl } from './kubectl.ts'

/** One version of kubectl at work on one cluster, in a folder of its own. */
export interface KubectlSession extends Disposable {
  readonly folder: string
  /** Whatever comes of it. */
  run(line: string): Promise<Ran>
  /** Must succeed; gives what it printed. Arguments are separated by blanks. */
  ok(line: string): Promise<string>
  /** Must fail; gives what it complained about. */
  fails(line: string): Promise<string>
  apply(...objects: object[]): Promise<void>
}

export async function kubectlSession(version: string, kubeconfig: string): Promise<KubectlSession> {
  const binary = await kubectl(version)
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-kubectl-'))
  const env = { ...process.env, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }
  writeFileSync(env.KUBECONFIG, kubeconfig)
  const run = (line: string) => runProgram(binary, line.split(' '), env, { cwd: folder })
  const ok = async (line: string) => {
    const { code, stdout, stderr } = await run(line)
    if (code !== 0) expect.fail(`kubectl ${line} ended with ${code}:\n${stdout}${stderr}`)
    return stdout
  }
  return {
    folder,
    run,
    ok,
    async fails(line) {
      const { code, stdout, stderr } = await run(line)
      if (code === 0) expect.fail(`kubectl ${line} did not fail:\n${stdout}${stderr}`)
      return stderr
    },
    async apply(...objects) {
      const items = objects.map((object) => ({ apiVersion: 'v1', ...object }))
      writeFileSync(path.join(folder, 'list.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
      await ok('apply -f list.json')
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
