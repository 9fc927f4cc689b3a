import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import { type Ran, runProgram } from '../tools/cluster.ts'
import { at, type Json } from '../tools/json.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'
import { jsonPatch, startWebhookServer, type WebhookServer } from '../tools/webhook-server.ts'

/** Admission webhooks as their users meet them, with the oldest and the newest kubectl. */
const VERSIONS = [KUBECTL_VERSIONS.at(0)!, KUBECTL_VERSIONS.at(-1)!]

const data = (object: Json | null, key: string) => at(object, `data.${key}`)

const ANSWERS = {
  deny: (request: { name?: string; object: Json | null }) => ({
    allowed: data(request.object, 'fruit') !== 'poison',
    status: { message: `${request.name} looks bad`, code: 403 },
    warnings: data(request.object, 'fruit') === 'odd' ? ['an odd fruit'] : [],
  }),
  mutate: ({ object }: { object: Json | null }) =>
    data(object, 'stage-1') ? jsonPatch({ op: 'add', path: '/data/stage-2', value: 'yes' }) : {},
  hang: () => undefined,
  'custom-resource': ({ object }: { object: Json | null }) =>
    object
      ? jsonPatch({ op: 'add', path: '/data/known', value: 'yes' }, { op: 'add', path: '/data/unknown', value: 'yes' })
      : { allowed: false, status: { message: 'it stays' } },
  'deny-all': () => ({ allowed: false }),
}

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v2',
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            data: { type: 'object', properties: { a: { type: 'string' }, known: { type: 'string' } } },
          },
        },
      },
    })),
  },
}

describe.runIf(kubectlRunsHere).each(VERSIONS)('kubectl %s', (version) => {
  let cluster: Cluster
  let webhooks: WebhookServer
  let binary: string
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-webhooks-'))
  const env = { ...process.env, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }

  beforeAll(async () => {
    binary = await kubectlOf(version)
    webhooks = await startWebhookServer(ANSWERS)
    cluster = await startCluster({ controllers: [] })
    writeFileSync(env.KUBECONFIG, cluster.kubeconfig)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    await webhooks?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (line: string): Promise<Ran> => runProgram(binary, line.split(' '), env, { cwd: folder })
  async function ok(line: string): Promise<string> {
    const ran = await run(line)
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout + ran.stderr
  }
  async function refused(line: string): Promise<string> {
    const ran = await run(line)
    expect(ran.code).not.toBe(0)
    return ran.stderr
  }
  async function apply(object: object): Promise<string> {
    writeFileSync(path.join(folder, 'object.json'), JSON.stringify(object))
    return ok('apply -f object.json')
  }
  const register = (type: 'Mutating' | 'Validating', name: string, resources: string[], change: object = {}) =>
    apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${type}WebhookConfiguration`,
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          clientConfig: { url: `${webhooks.url}/${name}`, caBundle: webhooks.caBundle },
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources }],
          admissionReviewVersions: ['v1', 'v1beta1'],
          sideEffects: 'None',
          timeoutSeconds: 1,
          ...change,
        },
      ],
    })
  const unregister = (type: 'mutating' | 'validating', name: string) => ok(`delete ${type}webhookconfiguration ${name}`)

  test('a validating webhook refuses, warns and lets pass, also in a dry run', async () => {
    await register('Validating', 'deny', ['configmaps'])
    expect(await refused('create configmap bad --from-literal fruit=poison')).toContain(
      'admission webhook "deny.example.com" denied the request: bad looks bad',
    )
    expect(await refused('create configmap bad --from-literal fruit=poison --dry-run=server')).toContain(
      'denied the request',
    )
    expect(await ok('create configmap odd --from-literal fruit=odd')).toContain('Warning: an odd fruit')
    expect(await ok('create configmap fine --from-literal fruit=apple')).toContain('configmap/fine created')
    expect(await refused('patch configmap fine -p {"data":{"fruit":"poison"}}')).toContain('fine looks bad')
    expect(await ok('get validatingwebhookconfigurations')).toMatch(/deny +1 /)
    await unregister('validating', 'deny')
    expect(await ok('create configmap bad --from-literal fruit=poison')).toContain('created')
  })

  test('a mutating webhook changes what is created and applied', async () => {
    await register('Mutating', 'mutate', ['configmaps'])
    await ok('create configmap staged --from-literal stage-1=yes')
    expect(await ok('get configmap staged -o jsonpath={.data.stage-2}')).toBe('yes')
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { 'stage-1': 'yes' } }
    writeFileSync(path.join(folder, 'object.json'), JSON.stringify(object))
    await ok('apply --server-side -f object.json')
    expect(await ok('get configmap applied -o jsonpath={.data.stage-2}')).toBe('yes')
    await unregister('mutating', 'mutate')
  })

  test('one that does not answer refuses, or is passed over', async () => {
    await register('Validating', 'hang', ['configmaps'])
    expect(await refused('create configmap slow')).toMatch(
      /failed calling webhook "hang.example.com": failed to call webhook: Post "https:.*\/hang\?timeout=1s": context deadline exceeded/,
    )
    await register('Validating', 'hang', ['configmaps'], { failurePolicy: 'Ignore' })
    expect(await ok('create configmap slow')).toContain('created')
    await unregister('validating', 'hang')
  })

  test('custom resources: of another stored version, pruned, and kept from deletion', async () => {
    await apply(DEFINITION)
    await ok('wait --for=condition=Established crd/things.example.com --timeout=10s')
    await register('Mutating', 'custom-resource', ['things'])
    await apply({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'one' }, data: { a: 'b' } })
    expect(JSON.parse(await ok('get things.v1.example.com one -o jsonpath={.data}'))).toEqual({ a: 'b', known: 'yes' })
    expect(await refused('delete thing one')).toContain('denied the request: it stays')
    await unregister('mutating', 'custom-resource')
    await ok('delete thing one')
  })

  test('definitions can be refused, webhooks cannot be kept from being removed', async () => {
    await register('Validating', 'deny-all', ['*/*'])
    const definition = { ...DEFINITION, metadata: { name: 'others.example.com' } }
    definition.spec = { ...DEFINITION.spec, names: { plural: 'others', kind: 'Other' } }
    writeFileSync(path.join(folder, 'object.json'), JSON.stringify(definition))
    expect(await refused('create -f object.json')).toContain(
      '"deny-all.example.com" denied the request without explanation',
    )
    await unregister('validating', 'deny-all')
    expect(await ok('create -f object.json')).toContain('created')
  })

  test('conditions that do not compile are refused', async () => {
    const conditions = { matchConditions: [{ name: 'a', expression: 'object.metadata.namespace != ' }] }
    await expect(register('Mutating', 'mutate', ['configmaps'], conditions)).rejects.toThrow('compilation failed')
  })
})
