import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../tools/cluster.ts'
import { at } from '../tools/json.ts'
import { helm as helmOf, KUBECTL_VERSIONS, kubectlRunsHere } from '../tools/kubectl.ts'
import { type KubectlSession, kubectlSession } from '../tools/kubectl-session.ts'
import { PROJECTS, publishedDefinition } from '../tools/published-definitions.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'
import {
  application,
  applicationSet,
  certificate,
  clusterIssuer,
  prometheus,
  prometheusRule,
  serviceMonitor,
} from './published-objects.ts'

/** Software nobody here wrote: large definitions of other projects, by kubectl and by helm. */

const NAMESPACE = 'published'
const server = useCluster(NAMESPACE)
const NEWEST = KUBECTL_VERSIONS.at(-1)!
/** What `kubectl apply` without --server-side keeps of an object in an annotation of it. */
const ANNOTATION_LIMIT = 256 * 1024

const WRONG: readonly [object: object, change: (spec: Record<string, unknown>) => void, complaint: string][] = [
  [prometheus, (spec) => (spec.replicas = 'two'), 'spec.replicas: Invalid value: "string"'],
  [prometheus, (spec) => (spec.containers = [{ image: 'x' }]), 'spec.containers[0].name: Required value'],
  [prometheus, (spec) => (spec.tpyo = 1), 'unknown field "spec.tpyo"'],
  [
    certificate,
    (spec) => (spec.usages = ['world domination']),
    'spec.usages[0]: Unsupported value: "world domination"',
  ],
  [clusterIssuer, (spec) => (spec.acme = { email: 'x' }), 'spec.acme.privateKeySecretRef: Required value'],
  [application, (spec) => delete spec.destination, 'spec.destination: Required value'],
]

const EXPLAINED: readonly [field: string, text: RegExp][] = [
  ['prometheuses.spec.retention', /FIELD: +retention <string>[\s\S]*retain/],
  ['prometheuses.spec.containers.resources.limits', /Limits describes the maximum amount of\s+compute\s+resources/],
  ['certificates.spec.privateKey', /algorithm\s+<string>/],
  ['applicationsets.spec.template.spec.destination', /namespace\s+<string>/],
]

async function definitions() {
  return Promise.all(Object.values(PROJECTS).flat().map(publishedDefinition))
}

describe.runIf(kubectlRunsHere)('definitions of other projects', () => {
  let kubectl: KubectlSession
  const write = (name: string, object: object) => writeFileSync(path.join(kubectl.folder, name), JSON.stringify(object))
  beforeAll(async () => {
    kubectl = await kubectlSession(NEWEST, readFileSync(server.cluster.kubeconfig, 'utf8'))
    for (const definition of await definitions()) {
      write('definition.json', definition)
      const isLarge = JSON.stringify(definition).length > ANNOTATION_LIMIT
      if (isLarge) expect(await kubectl.fails('apply -f definition.json')).toContain('metadata.annotations: Too long')
      await kubectl.ok(`apply -f definition.json${isLarge ? ' --server-side' : ''}`)
    }
    await kubectl.ok('wait crd --all --for=condition=Established --timeout=20s')
  }, 120_000)
  afterAll(() => kubectl?.[Symbol.dispose]())

  test('some are as large as they come', async () => {
    const sizes = (await definitions()).map((definition) => JSON.stringify(definition).length)
    expect(Math.max(...sizes)).toBeGreaterThan(400_000)
    expect(sizes.filter((size) => size > 200_000).length).toBeGreaterThan(1)
  })

  test('objects come as they are, and again', async () => {
    const all = [prometheus, serviceMonitor, prometheusRule, clusterIssuer, certificate, application, applicationSet]
    write('objects.json', { apiVersion: 'v1', kind: 'List', items: all })
    await kubectl.ok(`apply -n ${NAMESPACE} -f objects.json`)
    expect(await kubectl.ok(`apply -n ${NAMESPACE} -f objects.json`)).not.toContain('configured')
    await kubectl.ok(`apply -n ${NAMESPACE} -f objects.json --server-side --force-conflicts`)
    for (const { kind, metadata, spec } of all) {
      const read = JSON.parse(await kubectl.ok(`get ${kind} ${metadata.name} -n ${NAMESPACE} -o json`))
      expect(at(read, 'spec')).toMatchObject(spec)
    }
  })

  test.each(WRONG)('a wrong one is refused %#', async (object, change, complaint) => {
    const wrong = structuredClone(object) as { metadata: { name: string }; spec: Record<string, unknown> }
    wrong.metadata.name = 'wrong'
    change(wrong.spec)
    write('wrong.json', wrong)
    expect(await kubectl.fails(`create -n ${NAMESPACE} -f wrong.json`)).toContain(complaint)
  })

  test.each(KUBECTL_VERSIONS)(
    'kubectl %s explains them',
    async (version) => {
      using older = await kubectlSession(version, readFileSync(server.cluster.kubeconfig, 'utf8'))
      for (const [field, text] of EXPLAINED) expect(await older.ok(`explain ${field}`)).toMatch(text)
      expect(await older.ok('explain prometheuses --recursive')).toContain('serviceMonitorSelector')
    },
    60_000,
  )

  test.each([KUBECTL_VERSIONS[0]!, NEWEST])(
    'helm of %s brings a chart with definitions and objects of them',
    async (version) => {
      const chart = path.join(kubectl.folder, `chart-${version}`)
      const group = `v${version.replace('.', '')}.monitoring.example.com`
      mkdirSync(path.join(chart, 'crds'), { recursive: true })
      mkdirSync(path.join(chart, 'templates'))
      writeFileSync(
        path.join(chart, 'Chart.yaml'),
        JSON.stringify({ apiVersion: 'v2', name: 'monitoring', version: '1.0.0' }),
      )
      const [source] = PROJECTS['prometheus-operator']!
      const definition = await publishedDefinition(source!)
      const renamed = {
        ...definition,
        metadata: { name: `prometheuses.${group}` },
        spec: { ...definition.spec, group },
      }
      writeFileSync(path.join(chart, 'crds', 'prometheuses.yaml'), JSON.stringify(renamed))
      const object = { ...prometheus, apiVersion: `${group}/v1`, metadata: { name: '{{ .Release.Name }}' } }
      writeFileSync(path.join(chart, 'templates', 'prometheus.yaml'), JSON.stringify(object))
      const release = `monitoring-${version.replace('.', '-')}`
      const helm = async (...args: string[]) => {
        const ran = await runProgram(await helmOf(version), [...args, '--namespace', NAMESPACE], server.cluster.env)
        if (ran.code !== 0) expect.fail(`helm ${args.join(' ')} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
        return ran.stdout
      }
      expect(await helm('install', release, chart)).toContain('STATUS: deployed')
      const url = `/apis/${group}/v1/namespaces/${NAMESPACE}/prometheuses/${release}`
      expect(at(expectStatus(await server.api.get(url), 200).object, 'spec.retention')).toBe('15d')
      await helm('uninstall', release)
      expectStatus(await server.api.get(url), 404)
    },
    60_000,
  )
})
