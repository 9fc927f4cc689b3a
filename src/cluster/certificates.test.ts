import { execFileSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { type ClusterCertificates, loadCertificates } from './certificates.ts'

const DAY = 24 * 60 * 60 * 1000
const NAMES = ['kubernetes.default.svc', 'localhost', '127.0.0.1', '10.96.0.1', '::1']
let dir: string

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sampan-certificates-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe('what is issued', () => {
  let certificates: ClusterCertificates
  beforeAll(async () => {
    certificates = await loadCertificates({ clock: systemClock, serverNames: NAMES })
  })

  test.each(['server', 'admin'] as const)('openssl verifies the %s certificate for its purpose', (name) => {
    const ca = join(dir, 'ca.crt')
    const leaf = join(dir, `${name}.crt`)
    writeFileSync(ca, certificates.ca.cert)
    writeFileSync(leaf, certificates[name].cert)
    const purpose = name === 'server' ? 'sslserver' : 'sslclient'
    const verify = (purpose: string) =>
      execFileSync('openssl', ['verify', '-x509_strict', '-CAfile', ca, '-purpose', purpose, leaf], { stdio: 'pipe' })
    expect(verify(purpose).toString()).toContain('OK')
    expect(() => verify(name === 'server' ? 'sslclient' : 'sslserver')).toThrow()
  })

  test.each(['ca', 'server', 'admin'] as const)('the key of %s is written as OpenSSL writes it', (name) => {
    const { cert, key } = certificates[name]
    const read = createPrivateKey(key)
    expect(read.export({ type: 'pkcs8', format: 'pem' })).toBe(key)
    expect(new X509Certificate(cert).checkPrivateKey(read)).toBe(true)
  })

  test('what is asked for twice is made once, in memory too', async () => {
    const { server, admin, serviceAccountKey, frontProxy } = certificates
    expect(certificates.server).toBe(server)
    expect(certificates.admin).toBe(admin)
    expect(certificates.serviceAccountKey).toBe(serviceAccountKey)
    const [one, other] = [await frontProxy(), await certificates.frontProxy()]
    expect(other.client()).toBe(one.client())
    expect(other.ca).toBe(one.ca)
    expect(await certificates.renew()).toBe(false)
  })

  test('the server answers to its names and addresses alone', () => {
    const cert = new X509Certificate(certificates.server.cert)
    expect(cert.checkHost('localhost')).toBe('localhost')
    for (const ip of ['127.0.0.1', '10.96.0.1', '::1']) expect(cert.checkIP(ip)).toBe(ip)
    expect(cert.checkHost('example.com')).toBeUndefined()
    expect(cert.checkIP('10.96.0.2')).toBeUndefined()
    expect(cert.ca).toBe(false)
  })

  test('a client carries its name and all its groups', () => {
    const { cert } = certificates.issueClient('jané', ['developers', 'system:nodes'])
    expect(new X509Certificate(cert).subject.split('\n').toSorted()).toEqual([
      'CN=jané',
      'O=developers',
      'O=system:nodes',
    ])
  })

  test('mutual TLS works, and a stranger is refused', async () => {
    const stranger = await loadCertificates({ clock: systemClock, serverNames: [] })
    const server = tls.createServer(
      { ...certificates.server, ca: certificates.ca.cert, requestCert: true, rejectUnauthorized: true },
      (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)),
    )
    server.on('tlsClientError', () => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const dial = (pair: { cert: string; key: string }) =>
      new Promise<string>((resolve, reject) => {
        let text = ''
        const socket = tls.connect({ host: '127.0.0.1', port, ca: certificates.ca.cert, ...pair })
        socket.on('data', (chunk) => {
          text += chunk
        })
        socket.on('end', () => resolve(text))
        socket.on('error', reject)
      })
    try {
      expect(await dial(certificates.admin)).toBe('kubernetes-admin')
      // TLS 1.3 lets the client finish first, so it may see an end instead of the alert: never a greeting.
      expect(await dial(stranger.admin).catch(() => '')).toBe('')
    } finally {
      server.close()
    }
  })
})

describe('what is kept', () => {
  const load = (clock: { now(): number }, serverNames = NAMES) =>
    loadCertificates({ dir: join(dir, 'pki'), clock, serverNames })

  test('a restart finds the same, in files only the owner reads', async () => {
    const clock = new VirtualClock()
    const first = await load(clock)
    const second = await load(clock)
    expect([second.ca, second.server, second.admin, second.serviceAccountKey]).toEqual([
      first.ca,
      first.server,
      first.admin,
      first.serviceAccountKey,
    ])
    for (const file of ['ca.pem', 'apiserver.pem', 'admin.pem', 'service-account.key']) {
      expect(statSync(join(dir, 'pki', file)).mode & 0o777).toBe(0o600)
    }
  })

  test.each([
    { after: 100 * DAY, names: NAMES, renewed: { ca: false, server: false, admin: false } },
    { after: 200 * DAY, names: NAMES, renewed: { ca: false, server: true, admin: true } },
    { after: 0, names: [...NAMES, '192.0.2.1'], renewed: { ca: false, server: true, admin: false } },
    { after: 3400 * DAY, names: NAMES, renewed: { ca: true, server: true, admin: true } },
  ])('after $after ms with $names.length names', async ({ after, names, renewed }) => {
    const clock = new VirtualClock()
    rmSync(join(dir, 'pki'), { recursive: true })
    const before = await load(clock)
    clock.advance(after)
    const later = await load(clock, names)
    for (const name of ['ca', 'server', 'admin'] as const) {
      expect([name, later[name].cert !== before[name].cert]).toEqual([name, renewed[name]])
    }
    expect(later.serviceAccountKey).toBe(before.serviceAccountKey)
  })

  test('a damaged leaf is made anew', async () => {
    const clock = new VirtualClock()
    const before = await load(clock)
    const file = join(dir, 'pki', 'admin.pem')
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, 300))
    const later = await load(clock)
    expect(later.admin.cert).not.toBe(before.admin.cert)
    expect(later.ca).toEqual(before.ca)
  })
})
