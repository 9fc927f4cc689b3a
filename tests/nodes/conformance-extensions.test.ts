/** What people run beside Kubernetes, in a pod: webhooks that are asked by the API server, and an API server of its own. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueCertificate } from '../../src/x509/certificate.ts'
import { asRoot } from '../linux/as-root.ts'
import { at, type Json, listAt } from '../tools/json.ts'
import { kubectl } from '../tools/kubectl.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, configMap, IMAGE, isReady, pod, secret } from './conformance-node.ts'

const PROGRAM = readFileSync(path.resolve(import.meta.dirname, '..', 'tools', 'extension-program.mjs'), 'utf8')
const DAY = 24 * 60 * 60 * 1000
const FLUNDERS = '/apis/wardle.example.com/v1alpha1/namespaces/default/flunders'
const NAME = 'v1alpha1.wardle.example.com'

const certificate = issueCertificate({
  commonName: 'extension',
  usage: 'server',
  subjectAltNames: ['extension.default.svc'],
  notBefore: Date.now() - DAY,
  notAfter: Date.now() + DAY,
})
const caBundle = Buffer.from(certificate.cert).toString('base64')
const reference = { namespace: 'default', name: 'extension', port: 443 }

const extensionPod = pod(
  'extension',
  {
    name: 'main',
    image: IMAGE,
    command: ['node', '/program/program.mjs'],
    readinessProbe: { httpGet: { port: 8443, scheme: 'HTTPS', path: '/readyz' }, periodSeconds: 1 },
    volumeMounts: ['program', 'certs', 'proxy'].map((name) => ({ name, mountPath: `/${name}` })),
  },
  {
    volumes: [
      { name: 'program', configMap: { name: 'program' } },
      { name: 'certs', secret: { secretName: 'certs' } },
      { name: 'proxy', configMap: { name: 'proxy' } },
    ],
  },
  { labels: { app: 'extension' } },
)
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'extension' },
  spec: { selector: { app: 'extension' }, ports: [{ port: 443, targetPort: 8443 }] },
}
const webhooks = (kind: string, at: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${kind}WebhookConfiguration`,
  metadata: { name: 'extension' },
  webhooks: [
    {
      name: 'extension.example.com',
      clientConfig: { service: { ...reference, path: at }, caBundle },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      objectSelector: { matchLabels: { asked: 'yes' } },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
    },
  ],
})
const version = (name: string, fields: readonly string[]) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
    },
  },
})
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'hosts.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'hosts', kind: 'Host' },
    versions: [version('v1', ['hostPort']), version('v2', ['host', 'port'])],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { service: { ...reference, path: '/convert' }, caBundle },
      },
    },
  },
}
const apiService = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: NAME },
  spec: {
    group: 'wardle.example.com',
    version: 'v1alpha1',
    groupPriorityMinimum: 2000,
    versionPriority: 200,
    caBundle,
    service: reference,
  },
}

asRoot('extensions in a pod', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    const proxy = 'jsonpath={.data.requestheader-client-ca-file}'
    const trusted = await eventually(
      () => node.kubectl('get', 'configmap', '-n', 'kube-system', 'extension-apiserver-authentication', '-o', proxy),
      (text) => text.includes('BEGIN CERTIFICATE'),
    )
    await node.apply(
      configMap('program', { 'program.mjs': PROGRAM }),
      configMap('proxy', { 'ca.crt': trusted }),
      secret('certs', { 'tls.key': certificate.key, 'tls.crt': certificate.cert }),
      extensionPod,
      service,
    )
    await node.until('extension', isReady)
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  const json = async (...args: string[]) => JSON.parse(await node.kubectl(...args, '-o', 'json')) as Json
  const raw = async (verb: string, address: string, body?: object) => {
    const ran = await node.machine.run(
      await kubectl('1.36'),
      [verb, '--raw', address, ...(body ? ['-f', '-'] : [])],
      body && JSON.stringify(body),
    )
    if (ran.code !== 0) throw new Error(ran.stderr)
    return JSON.parse(ran.stdout) as Json
  }

  test('webhooks are asked, to refuse and to change', async () => {
    await node.apply(webhooks('Validating', '/admit'), webhooks('Mutating', '/mutate'))
    const asked = (name: string, data: Record<string, string>) => ({
      ...configMap(name, data),
      metadata: { name, labels: { asked: 'yes' } },
    })
    await expect(node.apply(asked('bad', { bad: 'yes' }))).rejects.toThrow(
      'admission webhook "extension.example.com" denied the request: refused by a pod',
    )
    await node.apply(asked('good', { bad: 'no' }))
    expect(at(await json('get', 'configmap', 'good'), 'data')).toEqual({ bad: 'no', changed: 'by a pod' })
    for (const which of ['validating', 'mutating'])
      await node.kubectl('delete', `${which}webhookconfiguration`, 'extension')
  })

  test('custom resources are converted', async () => {
    await node.apply(definition)
    await node.kubectl('wait', '--for=condition=Established', 'crd/hosts.example.com', '--timeout=10s')
    await node.apply({
      apiVersion: 'example.com/v1',
      kind: 'Host',
      metadata: { name: 'one' },
      hostPort: 'localhost:8080',
    })
    expect(await json('get', 'hosts.v2.example.com', 'one')).toMatchObject({ host: 'localhost', port: '8080' })
  })

  test('an API server of its own is served, changed and taken away like a part of this one', async () => {
    await node.apply(apiService)
    const condition = async () => listAt(await json('get', 'apiservice', NAME), 'status.conditions')[0]
    const available = { type: 'Available', status: 'True', reason: 'Passed', message: 'all checks passed' }
    await eventually(condition, (one) => one?.status === 'True')
    expect(await condition()).toMatchObject(available)
    const flunder = { apiVersion: 'wardle.example.com/v1alpha1', kind: 'Flunder', metadata: { name: 'first' } }
    const made = await raw('create', FLUNDERS, flunder)
    expect(made).toMatchObject({ metadata: { name: 'first' }, createdBy: 'kubernetes-admin' })
    expect(await node.kubectl('api-resources', '--api-group=wardle.example.com')).toMatch(/flunders .*Flunder/)
    expect(await node.kubectl('get', 'flunders', '-o', 'name')).toBe('flunder.wardle.example.com/first\n')
    await node.kubectl('delete', 'flunder', 'first', '--wait=false')
    expect(await node.kubectl('get', 'flunders', '-o', 'name')).toBe('')
    await node.kubectl('patch', 'apiservice', NAME, '--type=merge', '-p', '{"spec":{"versionPriority":400}}')
    await node.kubectl('label', 'apiservice', NAME, 'test=extension')
    expect(at(await json('get', 'apiservice', NAME), 'spec.versionPriority')).toBe(400)
    const current = await raw('get', `/apis/apiregistration.k8s.io/v1/apiservices/${NAME}/status`)
    const updated = { ...available, type: 'Updated', reason: 'Tested', lastTransitionTime: '2026-01-01T00:00:00Z' }
    const conditions = [...listAt(current, 'status.conditions'), updated]
    const after = await raw('replace', `/apis/apiregistration.k8s.io/v1/apiservices/${NAME}/status`, {
      ...current,
      status: { conditions },
    })
    expect(listAt(after, 'status.conditions').map(({ type }) => type)).toEqual(['Available', 'Updated'])
    await raw('create', FLUNDERS, flunder)
    await node.kubectl('delete', 'apiservice', '-l', 'test=extension')
    await expect(raw('get', FLUNDERS)).rejects.toThrow(/NotFound|not find/)
  })
})
