import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { at, type Json } from '../tools/json.ts'
import { expectStatus } from '../tools/use-cluster.ts'

/** The files that tell `sampan up` whom to believe, what to encrypt and what to write down. */
const folder = mkdtempSync(path.join(tmpdir(), 'sampan-security-files-'))
const file = (name: string) => path.join(folder, name)
let cluster: TestCluster

/** Replaced as editors and mounts do it: at once. */
function write(name: string, content: object): void {
  writeFileSync(file(`${name}.new`), JSON.stringify(content))
  renameSync(file(`${name}.new`), file(name))
}
const anonymousAt = (...paths: string[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  anonymous: { enabled: true, conditions: paths.map((one) => ({ path: one })) },
})
const key = (name: string, byte: number) => ({ keys: [{ name, secret: Buffer.alloc(32, byte).toString('base64') }] })
const encryptedWith = (...providers: object[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['secrets'], providers }],
})
const rules = [
  { level: 'Metadata', verbs: ['create'], resources: [{ resources: ['serviceaccounts'] }] },
  { level: 'None' },
]

beforeAll(async () => {
  write('authentication', anonymousAt('/first'))
  write('encryption', encryptedWith({ secretbox: key('one', 1) }))
  write('policy', { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules })
  const files = ['authentication-config', 'encryption-config', 'audit-policy']
  const named = ['authentication', 'encryption', 'policy']
  cluster = await startTestCluster({
    flags: [
      ...files.flatMap((flag, i) => [`--${flag}`, file(named[i]!)]),
      '--audit-log',
      file('audit.log'),
      '--feature-gates',
      'ClusterTrustBundle=true',
    ],
  })
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** What somebody without credentials is told. */
const anonymous = (target: string) =>
  new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(cluster.api.server)
    const { ca } = cluster.api.credentials
    const asked = request({ hostname, port, ca, path: target, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    asked.on('error', reject)
    asked.end()
  })

test('who need not show who they are follows its file, unless that is wrong', async () => {
  expect([await anonymous('/first'), await anonymous('/second')]).toEqual([403, 401])
  write('authentication', anonymousAt('/second'))
  await expect.poll(() => anonymous('/second'), { timeout: 20_000 }).toBe(403)
  expect(await anonymous('/first')).toBe(401)
  write('authentication', { ...anonymousAt('/first'), jwt: [{}] })
  const log = path.join(cluster.folder, 'data', 'server.log')
  await expect.poll(() => readFileSync(log, 'utf8'), { timeout: 20_000 }).toContain('jwt[0].issuer.url: Required value')
  expect([await anonymous('/first'), await anonymous('/second')]).toEqual([401, 403])
})

test('keys of the store follow their file', async () => {
  const secrets = '/api/v1/namespaces/default/secrets'
  const make = async (name: string) =>
    expectStatus(await cluster.api.create(secrets, { metadata: { name }, stringData: { a: 'hunter2' } }), 201)
  const stored = () => {
    const store = path.join(cluster.folder, 'data', 'store')
    const bytes = readdirSync(store).map((name) => readFileSync(path.join(store, name), 'latin1'))
    return bytes.join('').match(/k8s:enc:\w+:v1:\w+/g) ?? []
  }
  await make('first')
  expect(new Set(stored())).toEqual(new Set(['k8s:enc:secretbox:v1:one']))
  write('encryption', encryptedWith({ aesgcm: key('two', 2) }, { secretbox: key('one', 1) }))
  let made = 0
  await expect
    .poll(
      async () => {
        await make(`next-${made++}`)
        return stored()
      },
      { timeout: 20_000, interval: 500 },
    )
    .toContain('k8s:enc:aesgcm:v1:two')
  for (const name of ['first', `next-${made - 1}`]) {
    const { object } = expectStatus(await cluster.api.get(`${secrets}/${name}`), 200)
    expect(at(object, 'data.a')).toBe(Buffer.from('hunter2').toString('base64'))
  }
})

test('what the controllers do is written down under their names', async () => {
  expectStatus(await cluster.api.create('/api/v1/namespaces', { metadata: { name: 'audited' } }), 201)
  const events = () =>
    readFileSync(file('audit.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"audited"'))
      .map((line) => JSON.parse(line) as Json)
  await expect.poll(events, { timeout: 20_000 }).toHaveLength(1)
  const [event] = events()
  expect(at(event, 'user.username')).toBe('system:serviceaccount:kube-system:service-account-controller')
  expect(at(event, 'objectRef')).toMatchObject({ resource: 'serviceaccounts', namespace: 'audited', name: 'default' })
  expect(at(event, 'responseStatus.code')).toBe(201)
})

test('what a feature gate opens is served', async () => {
  const { object } = expectStatus(await cluster.api.get('/apis/certificates.k8s.io/v1beta1'), 200)
  expect(at(object, 'resources.0.name')).toBe('clustertrustbundles')
  const bundles = async () =>
    at((await cluster.api.get('/apis/certificates.k8s.io/v1beta1/clustertrustbundles')).object, 'items')
  await expect.poll(bundles, { timeout: 20_000 }).toMatchObject([{ spec: { trustBundle: cluster.api.credentials.ca } }])
})
