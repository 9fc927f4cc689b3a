import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { runProgram } from '../tools/cluster.ts'
import { at } from '../tools/json.ts'
import { helm as helmOf, KUBECTL_VERSIONS, kubectlRunsHere } from '../tools/kubectl.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

const NAMESPACE = 'helm'
const CHART = path.join(import.meta.dirname, 'chart')
const server = useCluster(NAMESPACE, { store: 'memory' })

if (!kubectlRunsHere && process.env.CI) throw new Error('CI is set, but there is no helm for this machine')

describe.runIf(kubectlRunsHere).each([KUBECTL_VERSIONS.at(0), KUBECTL_VERSIONS.at(-1)] as string[])(
  'helm that comes with kubectl %s',
  (version) => {
    const release = `boat-${version.replace('.', '-')}`

    async function helm(...args: string[]): Promise<string> {
      const ran = await runProgram(await helmOf(version), [...args, '--namespace', NAMESPACE], server.cluster.env)
      if (ran.code !== 0) expect.fail(`helm ${args.join(' ')} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
      return ran.stdout
    }

    test('install, upgrade, history, rollback, uninstall', async () => {
      const settings = `/api/v1/namespaces/${NAMESPACE}/configmaps/${release}-settings`
      const colour = async () => at(expectStatus(await server.api.get(settings), 200).object, 'data.colour')
      expect(await helm('install', release, CHART)).toContain('STATUS: deployed')
      expect(await colour()).toBe('red')
      expect(await helm('upgrade', release, CHART, '--set', 'colour=blue,replicas=2')).toContain('REVISION: 2')
      expect(await colour()).toBe('blue')
      expect(await helm('list')).toContain(release)
      await helm('rollback', release, '1')
      expect(await colour()).toBe('red')
      expect(await helm('history', release)).toMatch(/^3 .*deployed.*Rollback to 1/m)
      expect(await helm('get', 'manifest', release)).toContain('kind: Deployment')
      await helm('uninstall', release)
      expectStatus(await server.api.get(settings), 404)
    })
  },
)
