/** Hostile pods and images on every kind of node: none gets out, and nothing on the host changes. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { type Attempt, escapesIn, isDriven, isRefused, isScript, type RefusedAttempt } from './attempt.ts'
import { ATTEMPTS } from './attempts/all.ts'
import { Environment, type EnvironmentName } from './environments.ts'
import { LoopbackServers } from './loopback.ts'
import { controlOf, runAttempts } from './run-attempts.ts'

const NAMES: readonly EnvironmentName[] = ['builtin', 'rootless', 'containerd']

/** Of pods in the namespace of the suite: others come and go meanwhile. */
const filesBelow = (logs: string) =>
  readdirSync(logs)
    .filter((name) => name.startsWith('default_'))
    .flatMap((name) =>
      readdirSync(path.join(logs, name), { recursive: true, encoding: 'utf8' }).map((file) =>
        path.join(logs, name, file),
      ),
    )
    .filter((file) => lstatSync(file, { throwIfNoEntry: false })?.isFile())

async function refusalOf(environment: Environment, { object, refusal }: RefusedAttempt): Promise<string> {
  const input = JSON.stringify(object(environment.canaries))
  const { code, stdout, stderr } = await environment.kubectl(['create', '-f', '-'], input)
  return code !== 0 && refusal.test(stderr) ? `held ${stderr}` : `ESCAPED it was taken: ${stdout}${stderr}`
}

asRoot('nothing gets out of a pod', () => {
  describe.each(NAMES)('%s', (name) => {
    const rows = ATTEMPTS.filter(({ on = NAMES }) => on.includes(name))
    let environment: Environment
    let loopback: LoopbackServers
    let texts: Map<Attempt, string>
    beforeAll(async () => {
      environment = await Environment.up(name)
      loopback = await LoopbackServers.start(environment)
      texts = await runAttempts(environment, rows)
    }, 240_000)
    afterAll(async () => {
      loopback?.[Symbol.dispose]()
      await environment?.[Symbol.asyncDispose]()
    }, 120_000)

    const textOf = async (row: Attempt) => {
      if (isDriven(row)) return row.drive(environment)
      return isRefused(row) ? refusalOf(environment, row) : (texts.get(row) ?? '')
    }
    for (const row of rows)
      test(`${row.name} (${row.idea})`, async () => {
        expect(escapesIn(await textOf(row), environment.canaries.secrets).join('\n')).toBe('')
      })

    const proven = name === 'builtin' ? rows.filter(isScript).filter(({ worksPrivileged }) => worksPrivileged) : []
    for (const row of proven)
      test(`in a privileged pod, not so: ${row.name}`, () => {
        // A kernel may lack the system call.
        expect(texts.get(controlOf(row))).toMatch(/ESCAPED|Function not implemented/)
      })

    test('nothing on the host has changed', () => {
      expect([...environment.canaries.harm(), ...loopback.received()]).toEqual([])
    })

    test('no secret of the host is in a log, a status or an event', async () => {
      const logs = path.join(environment.dataDir, 'nodes/node-1/kubelet/log/pods')
      const all = await environment.ask('get', 'pods,events', '-A', '-o', 'json')
      const text = [all, ...filesBelow(logs).map((file) => readFileSync(file, 'utf8'))].join()
      expect(environment.canaries.secrets.filter((secret) => text.includes(secret))).toEqual([])
    })
  })
})
