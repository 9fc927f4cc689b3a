import { type RequestOptions, request } from 'node:https'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { ResourceType } from '../../client/transport.ts'
import { type ClusterCertificates, loadCertificates } from '../../cluster/certificates.ts'
import { type Anything, RESOURCES, SecureServer } from '../security.fixture.ts'
import { ExtensionServer, GROUP, VERSION } from './extension-server.fixture.ts'

const type = (group: string, plural: string, namespaced = false): ResourceType => ({
  group,
  version: 'v1',
  plural,
  namespaced,
})
const API_SERVICES = type('apiregistration.k8s.io', 'apiservices')
const SERVICES = type('', 'services', true)
const NAME = `${VERSION}.${GROUP}`
const FLUNDERS = `/apis/${GROUP}/${VERSION}/namespaces/default/flunders`

let certificates: ClusterCertificates
let server: SecureServer
let extension: ExtensionServer
let port: number

beforeAll(async () => {
  certificates = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
  const { ca } = certificates
  const frontProxy = await certificates.frontProxy()
  extension = new ExtensionServer({
    ...certificates.issueServer('api', [], ['api.default.svc']),
    proxyCa: frontProxy.ca,
  })
  server = await SecureServer.start({
    frontProxy: async () => frontProxy,
    resolveService: async ({ name, port: wanted }) =>
      name === 'api' ? { host: 'localhost', port: wanted } : undefined,
    rootCertificate: async () => ca.cert,
  })
  const tls = { ...certificates.server, clientCa: ca.cert }
  port = (await server.server.listen({ host: '127.0.0.1', port: 0, tls })).port
  const spec = { type: 'ExternalName', externalName: 'localhost', ports: [{ port: await extension.listen() }] }
  await server.create(SERVICES, { metadata: { name: 'api' }, spec })
  await server.create(API_SERVICES, {
    metadata: { name: NAME },
    spec: {
      group: GROUP,
      version: VERSION,
      groupPriorityMinimum: 2000,
      versionPriority: 200,
      caBundle: Buffer.from(ca.cert).toString('base64'),
      service: { namespace: 'default', name: 'api', port: spec.ports[0]!.port },
    },
  })
  await available('True')
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await extension[Symbol.asyncDispose]()
})

const condition = async () => {
  const found = (await server.admin.call({ verb: 'get', resource: API_SERVICES, name: NAME })) as Anything
  return (found.status as { conditions?: { status: string; reason: string; message: string }[] }).conditions?.[0]
}
const available = (status: string) =>
  vi.waitFor(async () => expect((await condition())?.status).toBe(status), { timeout: 10_000 })

interface Reply {
  readonly code: number
  readonly body: Anything
}

function ask(
  path: string,
  options: RequestOptions & { body?: object; accept?: string } = {},
  client = certificates.admin,
): Promise<Reply> {
  const headers = { accept: options.accept ?? 'application/json', 'x-remote-user': 'forged', ...options.headers }
  return new Promise((resolve, reject) => {
    const asked = request({ ...place(client), ...options, path, headers }, async (response) => {
      let text = ''
      for await (const part of response) text += part
      resolve({ code: response.statusCode!, body: text === '' ? {} : JSON.parse(text) })
    })
    asked.on('error', reject)
    asked.end(options.body && JSON.stringify(options.body))
  })
}

const place = ({ cert, key }: { cert: string; key: string }) => ({
  host: '127.0.0.1',
  port,
  servername: 'localhost',
  ca: certificates.ca.cert,
  cert,
  key,
  agent: false as const,
})

it('hands requests on in the name of who sent them', async () => {
  const created = await ask(FLUNDERS, { method: 'POST', body: { kind: 'Flunder', metadata: { name: 'a' } } })
  expect(created).toMatchObject({ code: 201, body: { metadata: { name: 'a' } } })
  expect((await ask(FLUNDERS)).body).toMatchObject({ kind: 'FlunderList', items: [{ metadata: { name: 'a' } }] })
  const last = extension.seen.findLast(({ path }) => path === FLUNDERS)
  expect(last).toEqual({
    path: FLUNDERS,
    user: 'kubernetes-admin',
    groups: 'system:masters, system:authenticated',
    isProxy: true,
  })
})

it('asks for rights before it hands anything on', async () => {
  const before = extension.seen.length
  const { code } = await ask(FLUNDERS, {}, certificates.issueClient('mallory', []))
  expect([code, extension.seen.slice(before).filter(({ user }) => user === 'mallory')]).toEqual([403, []])
})

it('streams watches, and ends them with the client', async () => {
  const lines: string[] = []
  const watching = request({ ...place(certificates.admin), path: `${FLUNDERS}?watch=true` }, (response) => {
    response.on('data', (part) => lines.push(String(part)))
    response.on('error', () => {})
  })
  watching.on('error', () => {})
  watching.end()
  await expect.poll(() => extension.watcherCount).toBe(1)
  await ask(FLUNDERS, { method: 'POST', body: { kind: 'Flunder', metadata: { name: 'b' } } })
  await expect.poll(() => lines.join('')).toContain('"type":"ADDED"')
  watching.destroy()
  await expect.poll(() => extension.watcherCount).toBe(0)
})

it('hands connections on', async () => {
  const echoed = await new Promise<string>((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: 'echo' }
    const asked = request({ ...place(certificates.admin), path: `${FLUNDERS}/a/connect`, headers })
    asked.on('upgrade', (_, socket) => {
      socket.on('data', (part) => {
        resolve(String(part))
        socket.destroy()
      })
      socket.write('hello')
    })
    asked.on('error', reject)
    asked.end()
  })
  expect([echoed, extension.seen.at(-1)?.user]).toEqual(['hello', 'kubernetes-admin'])
})

it('tells of its resources in discovery', async () => {
  const { body: groups } = await ask('/apis')
  const names = (groups as unknown as { groups: { name: string }[] }).groups.map(({ name }) => name)
  expect(names).toContain(GROUP)
  expect((await ask(`/apis/${GROUP}`)).body).toMatchObject({ preferredVersion: { version: VERSION } })
  expect((await ask(`/apis/${GROUP}/${VERSION}`)).body).toMatchObject({ resources: [{ name: 'flunders' }, {}] })
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const { body } = await ask('/apis', { accept })
  const group = (body as unknown as { items: { metadata: { name: string } }[] }).items.find(
    ({ metadata }) => metadata.name === GROUP,
  )
  expect(group).toMatchObject({
    versions: [
      {
        version: VERSION,
        freshness: 'Current',
        resources: [{ resource: 'flunders', scope: 'Namespaced', subresources: [{ subresource: 'status' }] }],
      },
    ],
  })
})

it('merges OpenAPI documents, but nothing that belongs to others', async () => {
  await expect
    .poll(async () => (await ask('/openapi/v3')).body.paths)
    .toMatchObject({
      [`apis/${GROUP}/${VERSION}`]: { serverRelativeURL: `/openapi/v3/apis/${GROUP}/${VERSION}?hash=ABC` },
    })
  expect((await ask(`/openapi/v3/apis/${GROUP}/${VERSION}?hash=ABC`)).body).toMatchObject({ info: { title: 'wardle' } })
  const { paths, definitions } = (await ask('/openapi/v2')).body as unknown as Record<string, Record<string, object>>
  expect(Object.keys(paths!)).toContain(`/apis/${GROUP}/${VERSION}/flunders`)
  expect(JSON.stringify(paths)).not.toContain('stolen')
  expect(definitions).toHaveProperty(['com.example.wardle.Flunder'])
})

it('tells extension API servers whom to believe', async () => {
  const name = 'extension-apiserver-authentication'
  const get = () => server.admin.call({ verb: 'get', resource: RESOURCES.configMaps, namespace: 'kube-system', name })
  expect(await get()).toMatchObject({
    data: {
      'client-ca-file': certificates.ca.cert,
      'requestheader-client-ca-file': (await certificates.frontProxy()).ca,
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    },
  })
})

it('has an APIService for each group version of its own, and no other', async () => {
  const list = (await server.admin.call({ verb: 'list', resource: API_SERVICES })) as unknown as { items: Anything[] }
  const local = list.items.filter(({ spec }) => !(spec as { service?: object }).service)
  const names = local.map(({ metadata }) => metadata.name)
  expect(names).toContain('v1.')
  expect(names).toContain('v1.apps')
  expect(names).not.toContain('v1.apiregistration.k8s.io')
  for (const { status } of local) expect(status).toMatchObject({ conditions: [{ status: 'True', reason: 'Local' }] })
  expect(local.find(({ metadata }) => metadata.name === 'v1.apps')?.spec).toMatchObject({ groupPriorityMinimum: 17800 })
})

it('answers 503 for what is not there, and goes on with everything else', async () => {
  extension.mode = 'fail'
  const patch = (spec: object) =>
    server.admin.call({
      verb: 'patch',
      resource: API_SERVICES,
      name: NAME,
      patchType: 'application/merge-patch+json',
      body: { spec },
    })
  await patch({ versionPriority: 201 })
  await available('False')
  expect(await condition()).toMatchObject({
    reason: 'FailedDiscoveryCheck',
    message: expect.stringMatching(/^failing or missing response from .*bad status from .*: 500$/),
  })
  expect(await ask(FLUNDERS)).toMatchObject({ code: 503, body: { reason: 'ServiceUnavailable' } })
  expect((await ask('/api/v1/namespaces')).code).toBe(200)
  expect(JSON.stringify((await ask('/apis')).body)).toContain(GROUP)
  extension.mode = 'answer'
  await available('True')
  extension.mode = 'hang'
  const hanging = ask(FLUNDERS)
  expect((await ask('/api/v1/namespaces')).code).toBe(200)
  await server.admin.call({ verb: 'delete', resource: SERVICES, namespace: 'default', name: 'api' })
  await available('False')
  expect(await condition()).toMatchObject({
    reason: 'ServiceNotFound',
    message: 'service/api in "default" is not present',
  })
  await server.admin.call({ verb: 'delete', resource: API_SERVICES, name: NAME })
  expect((await hanging).code).toBe(503)
  await expect.poll(async () => JSON.stringify((await ask('/apis')).body)).not.toContain(GROUP)
})
