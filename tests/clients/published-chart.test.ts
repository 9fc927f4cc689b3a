import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ran, runProgram } from '../tools/cluster.ts'
import { debianPackage, hasDebianPackages } from '../tools/debian-package.ts'
import { at, type Json } from '../tools/json.ts'
import { helm as helmOf, KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/**
 * A chart that others wrote and many installed: ChartMuseum, as Debian has it among the files of a library. It is older
 * than apps/v1, so it is tried as it is, and then with that one word changed, as its users had to.
 */

const NAMESPACE = 'published-chart'
const PACKAGE = 'golang-oras-oras-go-dev'
const CHART = 'usr/share/gocode/src/oras.land/oras-go/testdata/charts/chartmuseum'
const server = useCluster(NAMESPACE, { store: 'memory' })
const canRun = kubectlRunsHere && hasDebianPackages

if (!canRun && process.env.CI) throw new Error('CI is set, but there is no helm or no Debian on this machine')

describe.runIf(canRun).each([KUBECTL_VERSIONS.at(0)!, KUBECTL_VERSIONS.at(-1)!])('helm of %s', (version) => {
  const release = `museum-${version.replace('.', '-')}`
  const name = `${release}-chartmuseum`
  let folder: string
  let original: string
  let chart: string
  let helmBinary: string

  beforeAll(async () => {
    helmBinary = await helmOf(version)
    original = path.join(await debianPackage(PACKAGE), CHART)
    folder = mkdtempSync(path.join(tmpdir(), 'sampan-chart-'))
    chart = path.join(folder, 'chartmuseum')
    cpSync(original, chart, { recursive: true })
    for (const [file, apiVersion] of [
      ['deployment', 'apps/v1'],
      ['ingress', 'networking.k8s.io/v1'],
    ]) {
      const template = path.join(chart, 'templates', `${file}.yaml`)
      writeFileSync(template, readFileSync(template, 'utf8').replace('extensions/v1beta1', apiVersion!))
    }
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const run = (...args: string[]): Promise<Ran> =>
    runProgram(helmBinary, [...args, '--namespace', NAMESPACE], server.cluster.env)
  async function helm(...args: string[]): Promise<string> {
    const ran = await run(...args)
    if (ran.code !== 0) expect.fail(`helm ${args.join(' ')} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }
  const get = async (url: string): Promise<Json> => expectStatus(await server.api.get(url), 200).object as Json
  const deployment = () => get(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}`)
  const VALUES = [
    '--set=deployment.matchlabes.app=chartmuseum',
    `--set=deployment.matchlabes.release=${release}`,
    '--set=persistence.enabled=true,env.open.STORAGE=local,env.secret.BASIC_AUTH_USER=ann',
    '--set=service.type=NodePort,replicaCount=2',
  ]

  test('as it is, it asks for what no longer is there', async () => {
    const { code, stderr } = await run('install', `${release}-old`, original)
    expect(code).not.toBe(0)
    expect(stderr).toContain('no matches for kind "Deployment" in version "extensions/v1beta1"')
  })

  test('it is installed, upgraded, rolled back and uninstalled', async () => {
    expect(await helm('install', release, chart, ...VALUES)).toContain('STATUS: deployed')
    const installed = await deployment()
    expect(at(installed, 'spec.replicas')).toBe(2)
    expect(at(installed, 'metadata.labels.chart')).toMatch(/^chartmuseum-/)
    expect(at(installed, 'spec.template.spec.containers.0.livenessProbe.httpGet.path')).toBe('/health')
    const service = await get(`/api/v1/namespaces/${NAMESPACE}/services/${name}`)
    expect(at(service, 'spec.ports.0.nodePort')).toBeGreaterThan(0)
    const secret = await get(`/api/v1/namespaces/${NAMESPACE}/secrets/${name}`)
    expect(at(secret, 'data.BASIC_AUTH_USER')).toBe(Buffer.from('ann').toString('base64'))
    await get(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/${name}`)

    await helm('upgrade', release, chart, ...VALUES, '--set=replicaCount=3,env.open.DEBUG=true')
    expect(at(await deployment(), 'spec.replicas')).toBe(3)
    await helm('rollback', release, '1')
    expect(at(await deployment(), 'spec.replicas')).toBe(2)
    expect(await helm('status', release)).toContain('REVISION: 3')
    await helm('uninstall', release)
    expectStatus(await server.api.get(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}`), 404)
  }, 60_000)

  test('kubectl applies what it renders', async () => {
    const file = path.join(folder, 'rendered.yaml')
    writeFileSync(file, await helm('template', release, chart, ...VALUES))
    const kubectl = async (...args: string[]) => {
      const ran = await runProgram(await kubectlOf(version), [...args, '-n', NAMESPACE], server.cluster.env)
      if (ran.code !== 0) expect.fail(`kubectl ${args.join(' ')} ended with ${ran.code}:\n${ran.stderr}`)
      return ran.stdout
    }
    expect(await kubectl('apply', '-f', file)).toContain(`deployment.apps/${name} created`)
    expect(await kubectl('apply', '-f', file)).not.toMatch(/created|configured/)
    await kubectl('apply', '--server-side', '--force-conflicts', '-f', file)
    expect(await kubectl('diff', '-f', file)).toBe('')
    await kubectl('delete', '-f', file, '--wait=false')
  }, 60_000)
})
