import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestOptions, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { type ClusterCertificates, loadCertificates } from '../../cluster/certificates.ts'
import { RESOURCES, SecureServer } from '../security.fixture.ts'
import type { AuditEvent } from './event.ts'
import { LogBackend } from './log-backend.ts'
import { type AuditPolicy, type PolicyRule, policyEvaluator } from './policy.ts'
import { WebhookBackend } from './webhook-backend.ts'

const policy = (...rules: PolicyRule[]): AuditPolicy => ({ kind: 'Policy', apiVersion: 'audit.k8s.io/v1', rules })
const user = (name: string, ...groups: string[]) => ({ name, groups })

describe('policyEvaluator', () => {
  const evaluate = policyEvaluator(
    policy(
      { level: 'None', users: ['system:kube-proxy'], verbs: ['watch'], resources: [{ resources: ['endpoints'] }] },
      { level: 'None', nonResourceURLs: ['/healthz*', '/version'] },
      { level: 'Metadata', resources: [{ resources: ['secrets', 'pods/*'] }, { resources: ['*/scale'] }] },
      { level: 'Request', resources: [{ resources: ['configmaps'], resourceNames: ['leader'] }] },
      { level: 'Request', namespaces: ['kube-system'] },
      { level: 'RequestResponse', userGroups: ['auditors'], resources: [{ group: 'apps' }] },
      { level: 'Metadata', verbs: ['delete'] },
    ),
  )
  it.each<[string, string, string, string]>([
    ['system:kube-proxy', 'watch', 'endpoints', 'None'],
    ['ann', 'get', '/healthz/ping', 'None'],
    ['ann', 'get', '/version', 'None'],
    ['ann', 'get', 'shop/secrets/a', 'Metadata'],
    ['ann', 'create', 'shop/pods/a/exec', 'Metadata'],
    ['ann', 'get', 'shop/pods/a', 'None'],
    ['ann', 'update', 'shop/things/a/scale', 'Metadata'],
    ['ann', 'update', 'shop/configmaps/leader', 'Request'],
    ['ann', 'update', 'shop/configmaps/other', 'None'],
    ['ann', 'get', 'kube-system/pods/a', 'Request'],
    ['ann', 'get', 'shop/deployments.apps/a', 'None'],
    ['auditor', 'get', 'shop/deployments.apps/a', 'RequestResponse'],
    ['ann', 'delete', 'shop/services/a', 'Metadata'],
    ['ann', 'delete', '/logs', 'Metadata'],
  ])('%s may be seen to %s %s: %s', (name, verb, what, level) => {
    const groups = name === 'auditor' ? ['auditors'] : []
    const isPath = what.startsWith('/')
    const [namespace = '', whole = '', object = '', subresource = ''] = what.includes('/')
      ? what.split('/')
      : ['', what]
    const [resource = '', group = ''] = whole.split('.')
    const asked = isPath ? undefined : { group, resource, subresource, namespace, name: object }
    expect(evaluate({ user: user(name, ...groups), verb, path: what, resource: asked }).level).toBe(level)
  })

  it.each<[string, object, string]>([
    ['another kind', { kind: 'Pod' }, 'this is no Policy'],
    ['no rules', { rules: [] }, 'at least one rule'],
    ['a level that is none', { rules: [{ level: 'All' }] }, 'rules[0].level: unsupported value All'],
    ['a stage that is none', { omitStages: ['Later'] }, 'omitStages: unsupported value Later'],
    ['both', { rules: [{ level: 'None', namespaces: ['a'], nonResourceURLs: ['/a'] }] }, 'not both'],
    ['a star in the middle', { rules: [{ level: 'None', nonResourceURLs: ['/a*b'] }] }, 'at its end only'],
  ])('refuses %s', (_, change, message) => {
    expect(() => policyEvaluator({ ...policy({ level: 'Metadata' }), ...change } as AuditPolicy)).toThrow(message)
  })
})

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sampan-audit-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

it('puts a file aside when it is full, and keeps so many', async () => {
  const path = join(directory, 'audit.log')
  // All in one moment.
  const clock = { ...systemClock, now: () => 1_750_000_000_000 }
  const backend = new LogBackend({ path, maxBytes: 100, maxBackups: 2 }, clock, silentLogger)
  for (let i = 0; i < 6; i++) {
    backend.write(JSON.stringify({ i, text: 'x'.repeat(60) }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await backend[Symbol.asyncDispose]()
  const files = readdirSync(directory).sort()
  expect(files).toHaveLength(3)
  const kept = files.map((name) => (JSON.parse(readFileSync(join(directory, name), 'utf8')) as { i: number }).i)
  expect(kept.sort()).toEqual([3, 4, 5])
})

it('removes files that were put aside too many days ago', async () => {
  const path = join(directory, 'audit.log')
  let now = 1_750_000_000_000
  const clock = { ...systemClock, now: () => now }
  const backend = new LogBackend({ path, maxBytes: 100, maxDays: 30 }, clock, silentLogger)
  for (const day of [0, 1, 31, 31.5]) {
    now = 1_750_000_000_000 + day * 86_400_000
    backend.write(JSON.stringify({ day, text: 'x'.repeat(60) }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await backend[Symbol.asyncDispose]()
  const files = readdirSync(directory).sort()
  const kept = files.map((name) => (JSON.parse(readFileSync(join(directory, name), 'utf8')) as { day: number }).day)
  // Put aside with the next line: that of day 0 on day 1, more than 30 days before the end.
  expect(kept.sort((a, b) => a - b)).toEqual([1, 31, 31.5])
})

it('posts what waits to a webhook, together', async () => {
  const { ca, issueServer } = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
  const lists: { items: unknown[] }[] = []
  const receiver = createServer(issueServer('hook', [], ['localhost']), async (asked, response) => {
    let text = ''
    for await (const part of asked) text += part
    lists.push(JSON.parse(text))
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(receiver.address() as AddressInfo).port}/`
  const caBundle = Buffer.from(ca.cert).toString('base64')
  const backend = new WebhookBackend({ url, caBundle }, systemClock, silentLogger, async () => undefined)
  for (let i = 0; i < 401; i++) backend.write(JSON.stringify({ auditID: String(i) }))
  await expect.poll(() => lists.length).toBeGreaterThan(0)
  await backend[Symbol.asyncDispose]()
  receiver.close()
  receiver.closeAllConnections()
  expect(lists.map(({ items }) => items.length)).toEqual([400, 1])
  expect(lists[0]).toMatchObject({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: { 0: { auditID: '0' } } })
})

describe('an API server', () => {
  let certificates: ClusterCertificates
  let port: number

  /** What the server does for itself, and the test to prepare, is of no interest. */
  const QUIET: PolicyRule = { level: 'None', users: ['system:apiserver', 'admin'] }

  const audited = async (
    { rules = [], ...more }: AuditPolicy,
    work: (server: SecureServer) => Promise<void>,
  ): Promise<AuditEvent[]> => {
    const path = join(directory, 'audit.log')
    certificates = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
    {
      await using server = await SecureServer.start({
        audit: { policy: { ...more, rules: [QUIET, ...rules] }, log: { path } },
      })
      const tls = { ...certificates.server, clientCa: certificates.ca.cert }
      port = (await server.server.listen({ host: '127.0.0.1', port: 0, tls })).port
      await server.create(RESOURCES.secrets, { metadata: { name: 'token' }, stringData: { a: 'hunter2' } })
      await work(server)
    }
    const text = readFileSync(path, 'utf8')
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent)
  }

  const ask = (path: string, options: RequestOptions & { body?: object } = {}, client = certificates.admin) =>
    new Promise<{ code: number; auditId: unknown }>((resolve, reject) => {
      const place = {
        host: '127.0.0.1',
        port,
        servername: 'localhost',
        ca: certificates.ca.cert,
        agent: false as const,
      }
      const asked = request({ ...place, ...client, ...options, path }, (response) => {
        response.resume()
        response.on('end', () => resolve({ code: response.statusCode!, auditId: response.headers['audit-id'] }))
      })
      asked.on('error', reject)
      asked.end(options.body && JSON.stringify(options.body))
    })
  const SECRET = '/api/v1/namespaces/default/secrets/token'

  it('writes down who was refused what', async () => {
    let auditId: unknown
    const events = await audited(policy({ level: 'Metadata', omitStages: ['RequestReceived'] }), async () => {
      auditId = (await ask(SECRET, {}, certificates.issueClient('mallory', ['dev']))).auditId
      await ask(SECRET, { headers: { 'impersonate-user': 'bob' } }, certificates.issueClient('mallory', []))
      await ask(SECRET, {}, { cert: '', key: '' })
    })
    expect(events).toHaveLength(3)
    expect(events[0]).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: auditId,
      stage: 'ResponseComplete',
      requestURI: SECRET,
      verb: 'get',
      user: { username: 'mallory', groups: ['dev', 'system:authenticated'] },
      sourceIPs: ['127.0.0.1'],
      objectRef: { resource: 'secrets', namespace: 'default', name: 'token', apiVersion: 'v1' },
      responseStatus: { code: 403, reason: 'Forbidden', status: 'Failure' },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    })
    expect(events[1]).toMatchObject({ user: { username: 'mallory' }, responseStatus: { code: 403 } })
    expect(events[2]).toMatchObject({ user: { username: '' }, responseStatus: { code: 401 } })
  })

  it('writes as much as the level says, at each stage', async () => {
    const rules = policy(
      { level: 'Metadata', resources: [{ resources: ['secrets'] }] },
      { level: 'RequestResponse', verbs: ['create'], omitManagedFields: true },
      { level: 'Request', resources: [{ resources: ['configmaps'] }] },
    )
    const events = await audited(rules, async () => {
      await ask(SECRET)
      const body = { metadata: { name: 'a' }, data: { note: 'x' } }
      await ask('/api/v1/namespaces/default/configmaps', { method: 'POST', body })
      await ask('/api/v1/namespaces/default/configmaps/a', { headers: { 'impersonate-user': 'bob' } })
      await ask('/api/v1/namespaces')
    })
    expect(events.map(({ stage, verb, level }) => `${stage} ${verb} ${level}`)).toEqual([
      'RequestReceived get Metadata',
      'ResponseComplete get Metadata',
      'RequestReceived create RequestResponse',
      'ResponseComplete create RequestResponse',
      'RequestReceived get Request',
      'ResponseComplete get Request',
    ])
    expect(JSON.stringify(events)).not.toContain(Buffer.from('hunter2').toString('base64'))
    expect(events[3]).toMatchObject({
      objectRef: { resource: 'configmaps', name: 'a' },
      requestObject: { data: { note: 'x' } },
      responseObject: { kind: 'ConfigMap', data: { note: 'x' }, metadata: { uid: expect.any(String) } },
      responseStatus: { code: 201 },
      annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
    })
    expect(JSON.stringify(events[3]?.responseObject)).not.toContain('managedFields')
    expect(events[5]).toMatchObject({
      user: { username: 'kubernetes-admin' },
      impersonatedUser: { username: 'bob' },
      authenticationMetadata: { impersonationConstraint: 'impersonate:user-info' },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    })
    expect(events[5]).not.toHaveProperty('responseObject')
  })

  it('writes down what parts of the same process do', async () => {
    const rules = policy(
      { level: 'None', resources: [{ resources: ['namespaces'] }] },
      { level: 'RequestResponse', verbs: ['create'], omitStages: ['RequestReceived'] },
      { level: 'Metadata' },
    )
    const events = await audited(rules, async (server) => {
      const scheduler = server.as('system:kube-scheduler')
      await server.grant('system:kube-scheduler', [
        { apiGroups: [''], resources: ['configmaps', 'namespaces'], verbs: ['create', 'watch', 'list'] },
      ])
      const place = { resource: RESOURCES.configMaps, namespace: 'default' }
      await scheduler.call({ verb: 'list', resource: RESOURCES.namespaces })
      await scheduler.call({ verb: 'create', ...place, body: { metadata: { name: 'made' }, data: { a: 'b' } } })
      await expect(scheduler.call({ verb: 'get', ...place, name: 'made' })).rejects.toThrow('cannot get resource')
      const stop = new AbortController()
      const query = { labelSelector: 'a=b' }
      for await (const _ of scheduler.watch({
        ...place,
        query: {
          ...query,
          sendInitialEvents: 'true',
          resourceVersionMatch: 'NotOlderThan',
          allowWatchBookmarks: 'true',
        },
        signal: stop.signal,
      }))
        stop.abort()
    })
    expect(
      events.map(({ stage, verb, responseStatus }) => `${stage} ${verb} ${responseStatus?.code ?? ''}`.trim()),
    ).toEqual([
      'ResponseComplete create 201',
      'RequestReceived get',
      'ResponseComplete get 403',
      'RequestReceived watch',
      'ResponseStarted watch 200',
      'ResponseComplete watch 200',
    ])
    expect(events[0]).toMatchObject({
      user: { username: 'system:kube-scheduler' },
      userAgent: 'system:kube-scheduler',
      sourceIPs: ['127.0.0.1'],
      requestURI: '/api/v1/namespaces/default/configmaps',
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'made' },
      requestObject: { data: { a: 'b' } },
      responseObject: { kind: 'ConfigMap', data: { a: 'b' }, metadata: { uid: expect.any(String) } },
      annotations: { 'authorization.k8s.io/decision': 'allow' },
    })
    expect(events[2]).toMatchObject({
      requestURI: '/api/v1/namespaces/default/configmaps/made',
      responseStatus: { reason: 'Forbidden', status: 'Failure' },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    })
    expect(events[2]).not.toHaveProperty('responseObject')
    expect(events[5]?.requestURI).toContain('/configmaps?labelSelector=a%3Db&')
  })

  it('writes of a watch when it begins and when it ends', async () => {
    const events = await audited(policy({ level: 'Metadata', verbs: ['watch'] }), async () => {
      await ask('/api/v1/namespaces?watch=true&timeoutSeconds=1')
    })
    expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete'])
  })
})
