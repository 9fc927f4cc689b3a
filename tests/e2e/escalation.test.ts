import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import { at, type Json } from '../tools/json.ts'

/**
 * What attackers try. Each attempt is refused with the right code and leaves a line in the audit log that tells who
 * tried it.
 */
type Sender = 'nobody' | 'dev' | 'node-a' | 'admin' | { token: string }

interface Attempt {
  by: Sender
  ask: string
  body?: object | string
  headers?: Record<string, string>
  code: number
  message?: string
}

const RBAC = 'rbac.authorization.k8s.io'
const roles = (namespace: string) => `/apis/${RBAC}/v1/namespaces/${namespace}/roles`
const bindings = (namespace: string) => `/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`
const CLUSTER_BINDINGS = `/apis/${RBAC}/v1/clusterrolebindings`
const SECRET = '/api/v1/namespaces/other/secrets/password'
const POD = '/api/v1/namespaces/other/pods/web'
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

const folder = mkdtempSync(path.join(tmpdir(), 'sampan-escalation-'))
const log = path.join(folder, 'audit.log')
let cluster: Cluster
let keys: Record<'nobody' | 'dev' | 'node-a' | 'admin', { cert: string; key: string }>
let ca: string

beforeAll(async () => {
  const quiet = { level: 'None' as const, users: ['system:apiserver', 'kubernetes-admin'] }
  const policy = {
    kind: 'Policy',
    apiVersion: 'audit.k8s.io/v1',
    omitStages: ['RequestReceived' as const],
    rules: [quiet, { level: 'Metadata' as const }],
  }
  cluster = await startCluster({ controllers: false, scheduler: false, audit: { policy, log: { path: log } } })
  const certificates = await cluster.certificates
  ca = certificates.ca.cert
  keys = {
    nobody: certificates.issueClient('nobody', []),
    dev: certificates.issueClient('dev', ['devs']),
    'node-a': certificates.issueClient('system:node:node-a', ['system:nodes']),
    admin: certificates.issueClient('root', ['system:masters']),
  }
  for (const name of ['own', 'other']) await make('/api/v1/namespaces', { metadata: { name } })
  for (const name of ['node-a', 'node-b']) await make('/api/v1/nodes', { metadata: { name } })
  for (const namespace of ['own', 'other']) {
    await make(`/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: 'password' },
      stringData: { a: 'hunter2' },
    })
    await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
  }
  await make('/api/v1/namespaces/own/configmaps', { metadata: { name: 'known' } })
  const volumes = [{ name: 'v', secret: { secretName: 'password' } }]
  const spec = { nodeName: 'node-b', volumes, containers: [{ name: 'c', image: 'i' }] }
  await make('/api/v1/namespaces/other/pods', { metadata: { name: 'web' }, spec })
  await make(roles('own'), {
    metadata: { name: 'owner' },
    rules: [
      {
        apiGroups: ['', RBAC],
        resources: ['pods', 'pods/exec', 'roles', 'rolebindings', 'configmaps'],
        verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
      },
    ],
  })
  await make(bindings('own'), bindingTo('Role', 'owner', 'dev'))
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const bindingTo = (kind: string, name: string, user: string) => ({
  metadata: { name: `${name}-${user}` },
  roleRef: { apiGroup: RBAC, kind, name },
  subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
})
const roleWith = (name: string, resources: string[]) => ({
  metadata: { name },
  rules: [{ apiGroups: [''], resources, verbs: ['get'] }],
})

interface Answered {
  code: number
  text: string
  auditId: string
}

function send({ by, ask, body, headers = {} }: Omit<Attempt, 'code'>): Promise<Answered> {
  const [method, target] = ask.split(' ') as [string, string]
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const who = typeof by === 'string' ? keys[by] : {}
  const given = { ...(text !== undefined && { 'content-type': type }), ...headers }
  const all = typeof by === 'string' ? given : { ...given, authorization: `Bearer ${by.token}` }
  const { hostname, port } = new URL(cluster.url!)
  return new Promise((resolve, reject) => {
    const asked = request(
      { hostname, port, ca, method, path: target, headers: all, agent: false, ...who },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () =>
          resolve({
            code: response.statusCode!,
            text: Buffer.concat(parts).toString(),
            auditId: String(response.headers['audit-id']),
          }),
        )
      },
    )
    asked.on('error', reject)
    asked.end(text)
  })
}

async function make(target: string, body: object): Promise<Json> {
  const { code, text } = await send({ by: 'admin', ask: `POST ${target}`, body })
  if (code !== 201) throw new Error(`POST ${target}: ${code} ${text}`)
  return JSON.parse(text) as Json
}

/** The line of the log about a request. */
async function line(auditId: string): Promise<Json> {
  const find = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .find((one) => one.includes(`"auditID":"${auditId}"`))
  await expect.poll(find, { message: `no line about ${auditId}` }).toBeDefined()
  return JSON.parse(find()!) as Json
}

const NAMES: Record<string, string> = { nobody: 'nobody', dev: 'dev', 'node-a': 'system:node:node-a', admin: 'root' }

async function isRefused(attempt: Attempt): Promise<void> {
  const { code, text, auditId } = await send(attempt)
  expect(`${code} ${text}`).toMatch(new RegExp(`^${attempt.code} `))
  if (attempt.message) expect(text).toContain(attempt.message)
  expect(text).not.toContain('hunter2')
  expect(text).not.toContain(Buffer.from('hunter2').toString('base64'))
  const event = await line(auditId)
  expect(at(event, 'responseStatus.code')).toBe(attempt.code)
  expect(at(event, 'user.username')).toBe(typeof attempt.by === 'string' ? NAMES[attempt.by] : '')
  expect(at(event, 'requestURI')).toBe(attempt.ask.split(' ')[1])
}

const row = (by: Sender, ask: string, code: number, more: Partial<Attempt> = {}): Attempt => ({
  by,
  ask,
  code,
  ...more,
})
const title = ({ by, ask }: Attempt) => `${typeof by === 'string' ? by : 'a token'}: ${ask}`
const table = (attempts: Attempt[]) => attempts.map((attempt) => [title(attempt), attempt] as const)

describe('getting more rights', () => {
  const more = (kind: string, name: string) => ({ body: bindingTo(kind, name, 'dev') })
  const wide = { body: roleWith('wide', ['secrets']) }
  test.each(
    table([
      row('dev', `POST ${bindings('own')}`, 403, {
        ...more('ClusterRole', 'cluster-admin'),
        message: 'is attempting to grant RBAC permissions not currently held',
      }),
      row('dev', `POST ${bindings('other')}`, 403, more('ClusterRole', 'view')),
      row('dev', `POST ${CLUSTER_BINDINGS}`, 403, more('ClusterRole', 'cluster-admin')),
      row('dev', `POST ${roles('own')}`, 403, { ...wide, message: 'not currently held' }),
      row('dev', `PUT ${roles('own')}/owner`, 403, {
        body: roleWith('owner', ['secrets']),
        message: 'not currently held',
      }),
      row('dev', `PATCH ${roles('own')}/owner`, 403, {
        body: { rules: wide.body.rules },
        message: 'not currently held',
      }),
      row('dev', `PATCH ${roles('own')}/wide?fieldManager=x`, 403, {
        body: { apiVersion: `${RBAC}/v1`, kind: 'Role', ...wide.body },
        headers: { 'content-type': 'application/apply-patch+yaml' },
        message: 'not currently held',
      }),
      row('dev', `PATCH /apis/${RBAC}/v1/clusterroles/view`, 403, { body: { rules: [] } }),
      row('dev', 'POST /api/v1/namespaces/own/serviceaccounts/default/token', 403, { body: { spec: {} } }),
      row('dev', 'POST /apis/certificates.k8s.io/v1/certificatesigningrequests', 403, {
        body: { metadata: { name: 'x' } },
      }),
      row('dev', `POST ${WEBHOOKS}`, 403, { body: { metadata: { name: 'x' } } }),
      row('dev', 'PATCH /api/v1/namespaces/own', 403, {
        body: { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
      }),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))
})

describe('being somebody else', () => {
  const as = (headers: Record<string, string>) => ({ headers })
  test.each(
    table([
      row('dev', `GET ${SECRET}`, 403, { ...as({ 'impersonate-user': 'root' }), message: 'impersonate' }),
      row('dev', `GET ${SECRET}`, 403, as({ 'impersonate-user': 'dev', 'impersonate-group': 'system:masters' })),
      row('dev', `GET ${SECRET}`, 403, as({ 'impersonate-user': 'system:serviceaccount:kube-system:default' })),
      row('dev', `GET ${SECRET}`, 403, as({ 'impersonate-user': 'system:node:node-b' })),
      row('dev', `GET ${SECRET}`, 400, as({ 'impersonate-group': 'system:masters' })),
      row('dev', `GET ${SECRET}`, 403, as({ 'x-remote-user': 'root', 'x-remote-group': 'system:masters' })),
      row('dev', 'POST /apis/authentication.k8s.io/v1/tokenreviews', 403, { body: { spec: { token: 'x' } } }),
      row('dev', 'POST /apis/authorization.k8s.io/v1/subjectaccessreviews', 403, { body: { spec: { user: 'root' } } }),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))
})

describe("others' pods", () => {
  test.each(
    table([
      row('dev', `POST ${POD}/exec?command=sh&stdin=true`, 403),
      row('dev', `GET ${POD}/exec?command=sh&stdin=true`, 403),
      row('dev', `POST ${POD}/attach`, 403),
      row('dev', `POST ${POD}/portforward`, 403),
      row('dev', `GET ${POD}/proxy/`, 403),
      row('dev', `GET ${POD}/log`, 403),
      row('dev', `PATCH ${POD}/ephemeralcontainers`, 403, {
        body: { spec: { ephemeralContainers: [{ name: 'x', image: 'i' }] } },
      }),
      row('dev', 'POST /api/v1/namespaces/own/pods/web/portforward', 403),
      row('dev', 'POST /api/v1/namespaces/own/pods/..%2f..%2fother%2fpods%2fweb/exec?command=sh', 400),
      row('dev', 'GET /api/v1/nodes/node-b/proxy/pods', 403),
      row('dev', `POST ${POD}/binding`, 403, { body: { target: { name: 'node-a' } } }),
      row('dev', `POST ${POD}/eviction`, 403, { body: {} }),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))
})

describe('secrets by other paths', () => {
  const list = '/api/v1/namespaces/own/secrets'
  test.each(
    table([
      row('dev', `GET ${SECRET}`, 403),
      row('dev', `GET ${list}`, 403),
      row('dev', 'GET /api/v1/secrets', 403),
      row('dev', `GET ${list}?watch=true`, 403),
      row('dev', '/api/v1/watch/namespaces/own/secrets'.replace(/^/, 'GET '), 403),
      row('dev', `GET ${list}?fieldSelector=metadata.name%3Dpassword`, 403),
      row('dev', `PATCH ${list}/password?dryRun=All`, 403, { body: { metadata: { labels: { a: 'b' } } } }),
      row('dev', `PUT ${list}/password?dryRun=All`, 403, { body: { metadata: { name: 'password' } } }),
      row('dev', `DELETE ${list}?dryRun=All`, 403),
      row('dev', `DELETE ${list}/password?dryRun=All`, 403),
      row('dev', 'GET /api/v1/namespaces/own/configmaps/../secrets/password', 400),
      row('dev', 'GET /api/v1/namespaces/own/configmaps/%2e%2e/secrets/password', 400),
      row('dev', 'GET /api/v1/namespaces/own%2Fsecrets/password', 400),
      row('dev', `GET ${list}//password`, 400),
      row('dev', 'GET /api/v1/namespaces/own/services/https:kubernetes:443/proxy/api/v1/secrets', 403),
      row('dev', 'GET /metrics', 403),
      row('dev', 'GET /debug/pprof/heap', 403),
      row('nobody', 'GET /healthz/../api/v1/secrets', 403),
      row('nobody', 'GET /version/%2e%2e/api/v1/secrets', 403),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))
})

describe('a node', () => {
  const label = { body: { metadata: { labels: { 'node-restriction.kubernetes.io/trusted': 'yes' } } } }
  test.each(
    table([
      row('node-a', `GET ${SECRET}`, 403, { message: 'no relationship found' }),
      row('node-a', 'GET /api/v1/secrets', 403),
      row('node-a', 'GET /api/v1/namespaces/other/secrets?watch=true&fieldSelector=metadata.name%3Dpassword', 403),
      row('node-a', `PATCH ${POD}/status`, 403, { body: { status: { phase: 'Failed' } } }),
      row('node-a', `DELETE ${POD}`, 403),
      row('node-a', 'PATCH /api/v1/nodes/node-b/status', 403, { body: { status: {} } }),
      row('node-a', 'PATCH /api/v1/nodes/node-a', 403, label),
      row('node-a', 'PATCH /api/v1/nodes/node-a', 403, {
        body: { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } },
      }),
      row('node-a', 'POST /api/v1/namespaces/other/serviceaccounts/default/token', 403, { body: { spec: {} } }),
      row('node-a', 'POST /api/v1/namespaces/other/pods', 403, {
        body: { metadata: { name: 'x' }, spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] } },
        message: 'can only create mirror pods',
      }),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))
})

describe('a token', () => {
  const claims = {
    iss: 'https://kubernetes.default.svc.cluster.local',
    aud: ['https://kubernetes.default.svc.cluster.local'],
    sub: 'system:serviceaccount:kube-system:default',
    exp: 4e9,
  }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = (header: object, payload: object, seal: (text: string) => Buffer) => {
    const text = `${part(header)}.${part(payload)}`
    return `${text}.${seal(text).toString('base64url')}`
  }
  const issue = async (spec: object) => {
    const made = await make('/api/v1/namespaces/own/serviceaccounts/default/token', { spec })
    return String(at(made, 'status.token'))
  }
  const published = async () => {
    const { text } = await send({ by: 'admin', ask: 'GET /openid/v1/jwks' })
    const [jwk] = (JSON.parse(text) as { keys: { kid: string }[] }).keys
    return {
      kid: jwk!.kid,
      pem: createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' }) as string,
    }
  }
  const forged: Record<string, () => Promise<string>> = {
    'without a signature': async () => `${part({ alg: 'none' })}.${part(claims)}.`,
    'with an empty one': async () => signed({ alg: 'none' }, claims, () => Buffer.from('x')),
    'signed with the public key as a secret': async () => {
      const { kid, pem } = await published()
      return signed({ alg: 'HS256', kid }, claims, (text) => createHmac('sha256', pem).update(text).digest())
    },
    'signed by another key': async () => {
      const { kid } = await published()
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return signed({ alg: 'ES256', kid }, claims, (text) =>
        sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      )
    },
    'that brings its key along': async () => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const header = { alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) }
      return signed(header, claims, (text) =>
        sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      )
    },
    'with another name in it': async () => {
      const [header, payload, seal] = (await issue({})).split('.')
      const changed = { ...(JSON.parse(Buffer.from(payload!, 'base64url').toString()) as object), sub: claims.sub }
      return `${header}.${part(changed)}.${seal}`
    },
    'for another audience': () => issue({ audiences: ['vault'] }),
    'of a pod that is gone': async () => {
      await make('/api/v1/namespaces/own/pods', {
        metadata: { name: 'gone' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      })
      const token = await issue({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'gone' } })
      await send({ by: 'admin', ask: 'DELETE /api/v1/namespaces/own/pods/gone?gracePeriodSeconds=0' })
      return token
    },
  }
  test.each(Object.keys(forged))('%s', async (which) => {
    const token = await forged[which]!()
    await isRefused(row({ token }, 'GET /api/v1/namespaces', 401, { message: 'Unauthorized' }))
  })
})

describe('what would lead the server elsewhere', () => {
  const webhook = (clientConfig: object) => ({
    metadata: { name: 'elsewhere' },
    webhooks: [
      { name: 'a.example.com', clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'], rules: [] },
    ],
  })
  const url = (text: string) => row('admin', `POST ${WEBHOOKS}`, 422, { body: webhook({ url: text }) })
  const slice = (address: string) =>
    row('admin', 'POST /apis/discovery.k8s.io/v1/namespaces/own/endpointslices', 422, {
      body: { metadata: { name: 'x' }, addressType: 'IPv4', endpoints: [{ addresses: [address] }] },
    })
  test.each(
    table([
      url('http://169.254.169.254/latest/meta-data'),
      url('https://user:password@example.com/'),
      url('https://example.com/?to=elsewhere'),
      url('https://example.com/#elsewhere'),
      row('admin', `POST ${WEBHOOKS}`, 422, {
        body: webhook({ url: 'https://a', service: { name: 'a', namespace: 'b' } }),
      }),
      row('admin', `POST ${WEBHOOKS}`, 422, {
        body: webhook({ service: { name: 'a', namespace: 'b', path: '/a//b' } }),
      }),
      slice('127.0.0.1'),
      slice('169.254.169.254'),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))

  test.each(['127.0.0.1', '169.254.169.254'])('a pod that says it is at %s', async (podIP) => {
    const name = `at-${podIP.replaceAll('.', '-')}`
    await make('/api/v1/namespaces/own/pods', { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } })
    const status = { status: { podIP, podIPs: [{ ip: podIP }] } }
    const { code } = await send({ by: 'admin', ask: `PATCH /api/v1/namespaces/own/pods/${name}/status`, body: status })
    expect(code).toBe(200)
    await isRefused(
      row('admin', `GET /api/v1/namespaces/own/pods/${name}:80/proxy/`, 400, { message: 'address not allowed' }),
    )
  })

  test('a service that is a name elsewhere', async () => {
    await make('/api/v1/namespaces/own/services', {
      metadata: { name: 'ext' },
      spec: { type: 'ExternalName', externalName: 'metadata.internal' },
    })
    await isRefused(row('admin', 'GET /api/v1/namespaces/own/services/ext:80/proxy/', 503))
  })

  test('a webhook that asks about itself', async () => {
    const { hostname, port } = new URL(cluster.url!)
    const all = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }
    const loop = {
      metadata: { name: 'loop' },
      webhooks: [
        {
          name: 'loop.example.com',
          clientConfig: {
            url: `https://${hostname}:${port}/api/v1/namespaces/own/configmaps`,
            caBundle: Buffer.from(ca).toString('base64'),
          },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 5,
          rules: [all],
        },
      ],
    }
    await make(WEBHOOKS, loop)
    await expect
      .poll(() =>
        send({
          by: 'dev',
          ask: 'POST /api/v1/namespaces/own/configmaps',
          body: { metadata: { generateName: 'x-' } },
        }).then(({ code }) => code),
      )
      .toBe(500)
    await isRefused(
      row('dev', 'POST /api/v1/namespaces/own/configmaps', 500, {
        body: { metadata: { name: 'x' } },
        message: 'failed calling webhook',
      }),
    )
    // Nobody is locked out by it.
    expect((await send({ by: 'admin', ask: `DELETE ${WEBHOOKS}/loop` })).code).toBe(200)
    await expect
      .poll(() =>
        send({
          by: 'dev',
          ask: 'POST /api/v1/namespaces/own/configmaps',
          body: { metadata: { generateName: 'x-' } },
        }).then(({ code }) => code),
      )
      .toBe(201)
  })
})

describe('what would keep the server busy', () => {
  const definition = (plural: string, spec: object) => ({
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural, kind: plural, singular: plural },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  })
  const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const numbers = (rule: string, more: object = {}) => ({
    type: 'array',
    items: { type: 'integer' },
    ...more,
    'x-kubernetes-validations': [{ rule }],
  })
  const bomb = Array.from(
    { length: 30 },
    (_, i) =>
      `a${i}: &a${i} [${Array(9)
        .fill(i === 0 ? 'x' : `*a${i - 1}`)
        .join(',')}]`,
  )
  const yaml = { headers: { 'content-type': 'application/yaml' } }
  const MAPS = '/api/v1/namespaces/own/configmaps'

  test.each(
    table([
      row('admin', `POST ${DEFINITIONS}`, 422, {
        body: definition('loops', numbers('self.all(x, self.all(y, true))')),
        message: 'estimated rule cost exceeds budget',
      }),
      row('admin', `POST ${DEFINITIONS}`, 422, {
        body: definition('patterns', { type: 'string', pattern: '(?=a)' }),
        message: 'must be a valid regular expression',
      }),
      row('dev', `POST ${MAPS}`, 400, { body: bomb.join('\n'), ...yaml }),
      row('dev', `POST ${MAPS}`, 400, { body: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` }),
      row('dev', `POST ${MAPS}`, 413, { body: { metadata: { name: 'x' }, data: { a: 'x'.repeat(4 * 1024 * 1024) } } }),
      row('dev', `POST ${MAPS}`, 422, {
        body: { metadata: { name: 'x' }, data: { a: 'x'.repeat(1024 * 1024), b: 'x'.repeat(1024) } },
      }),
      row('dev', `GET ${MAPS}?labelSelector=${'('.repeat(5000)}`, 400),
      row('dev', `PATCH ${MAPS}/known`, 413, {
        body: JSON.stringify(Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }))),
        headers: { 'content-type': 'application/json-patch+json' },
      }),
    ]),
  )('%s', (_, attempt) => isRefused(attempt))

  test('a pattern made to take for ever, and a rule that runs too long', async () => {
    const spec = {
      type: 'object',
      properties: {
        text: { type: 'string', pattern: '^(a+)+$' },
        list: numbers('self.all(x, self.all(y, x + y >= 0))', { maxItems: 1000 }),
      },
    }
    await make(DEFINITIONS, definition('slows', spec))
    const ask = 'POST /apis/example.com/v1/slows'
    const slow = (part: object) => ({
      body: { apiVersion: 'example.com/v1', kind: 'slows', metadata: { name: 'x' }, spec: part },
    })
    await expect
      .poll(() => send({ by: 'admin', ask: 'GET /apis/example.com/v1/slows' }).then(({ code }) => code))
      .toBe(200)
    await isRefused(row('admin', ask, 422, { ...slow({ text: `${'a'.repeat(100_000)}!` }), message: 'spec.text' }))
    const list = Array.from({ length: 1000 }, (_, i) => i)
    await isRefused(row('admin', ask, 422, { ...slow({ list }), message: 'call cost exceeds limit' }))
  })

  test('a policy that runs too long', async () => {
    const group = '/apis/admissionregistration.k8s.io/v1'
    const expression = 'object.data.all(a, object.data.all(b, object.data.all(c, a != "" || b != "" || c != "")))'
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
    const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules }, validations: [{ expression }] }
    await make(`${group}/validatingadmissionpolicies`, { metadata: { name: 'slow' }, spec })
    const binding = {
      policyName: 'slow',
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'own' } } },
    }
    await make(`${group}/validatingadmissionpolicybindings`, { metadata: { name: 'slow' }, spec: binding })
    const data = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, 'x']))
    const attempt = { by: 'dev' as const, ask: `POST ${MAPS}`, body: { metadata: { name: 'slow' }, data } }
    await expect.poll(() => send({ ...attempt, ask: `${attempt.ask}?dryRun=All` }).then(({ code }) => code)).toBe(422)
    await isRefused({ ...attempt, code: 422, message: 'cost limit exceeded' })
    await send({ by: 'admin', ask: `DELETE ${group}/validatingadmissionpolicybindings/slow` })
  })
})
