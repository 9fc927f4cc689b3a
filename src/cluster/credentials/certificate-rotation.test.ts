import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startApiServer } from '../../apiserver/server.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { loadCertificates } from '../certificates.ts'
import { nodeKubeconfigPath, servingCertificatePath } from '../node/node-settings.ts'
import { rotateCertificates } from './certificate-rotation.ts'
import { hasNodeCredentials, writeNodeCredentials } from './node-credentials.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR

let dir: string
let clock: VirtualClock
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sampan-rotation-'))
  clock = new VirtualClock(Date.now())
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** The certificate that a new connection is shown. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).toString())
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

const endOf = (cert: string) => Date.parse(new X509Certificate(cert).validTo)

test.each([true, false])('certificates are renewed at half of their life (on disk: %s)', async (isKept) => {
  const certificates = await loadCertificates({ clock, serverNames: ['localhost'], ...(isKept && { dir }) })
  const proxy = await certificates.frontProxy()
  const before = { server: certificates.server, admin: certificates.admin, proxy: proxy.client() }
  let heard = 0
  const onRenewed = () => {
    heard++
  }
  await using _ = rotateCertificates({ certificates, clock, log: silentLogger, onRenewed })
  const wait = async (days: number) => {
    clock.advance(days * DAY)
    for (let looks = 0; looks < 3; looks++) await clock.advanceAsync(HOUR)
  }
  await wait(180)
  expect(heard).toBe(0)
  expect(certificates.server).toBe(before.server)
  await wait(4)
  await expect.poll(() => heard).toBe(1)
  for (const [old, current] of [
    [before.server, certificates.server],
    [before.admin, certificates.admin],
    [before.proxy, proxy.client()],
  ] as const) {
    expect(current.cert).not.toBe(old.cert)
    expect(endOf(current.cert)).toBeGreaterThan(clock.now() + 360 * DAY)
  }
  expect((await certificates.frontProxy()).ca).toBe(proxy.ca)
  expect(endOf(certificates.issueClient('late', []).cert)).toBeGreaterThan(clock.now() + 360 * DAY)
  if (isKept) expect(readFileSync(join(dir, 'apiserver.pem'), 'utf8')).toContain(certificates.server.cert)
})

test('a server shows the new one to new connections, and keeps the old ones', async () => {
  await using store = await openMemoryStore()
  await using server = await startApiServer({
    store,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
  })
  const certificates = await loadCertificates({ clock, serverNames: ['127.0.0.1'] })
  const tls = { ...certificates.server, clientCa: certificates.ca.cert }
  const listener = await server.listen({ host: '127.0.0.1', port: 0, tls })
  const open = connect({ host: '127.0.0.1', port: listener.port, ca: certificates.ca.cert })
  await new Promise((resolve) => open.once('secureConnect', resolve))
  expect(await shown(listener.port)).toBe(new X509Certificate(certificates.server.cert).toString())
  clock.advance(200 * DAY)
  expect(await certificates.renew()).toBe(true)
  listener.useCertificate(certificates.server)
  expect(await shown(listener.port)).toBe(new X509Certificate(certificates.server.cert).toString())
  const answer = new Promise<string>((resolve) => open.once('data', (data) => resolve(data.toString())))
  open.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
  expect(await answer).toContain('200 OK')
  open.destroy()
})

test('credentials of a node are kept while they are young and lead to the cluster', async () => {
  const certificates = await loadCertificates({ clock, serverNames: ['localhost'] })
  const options = { node: 'n', address: '10.0.0.2', dataDir: dir, server: 'https://10.0.0.1:6443', certificates }
  expect(await hasNodeCredentials(options, clock.now())).toBe(false)
  await writeNodeCredentials(options)
  const text = readFileSync(nodeKubeconfigPath(dir, 'kubelet'), 'utf8')
  expect(text).toContain('https://10.0.0.1:6443')
  expect(await hasNodeCredentials(options, clock.now())).toBe(true)
  expect(await hasNodeCredentials(options, clock.now() + 100 * DAY)).toBe(false)
  expect(await hasNodeCredentials({ ...options, server: 'https://10.0.0.9:6443' }, clock.now())).toBe(false)
  expect(await hasNodeCredentials({ ...options, address: '10.0.0.3' }, clock.now())).toBe(false)
  for (const path of [servingCertificatePath(dir), nodeKubeconfigPath(dir, 'cluster-dns')]) {
    await writeNodeCredentials(options)
    writeFileSync(path, 'torn')
    expect(await hasNodeCredentials(options, clock.now())).toBe(false)
  }
  await writeNodeCredentials(options)
  expect(await hasNodeCredentials(options, clock.now())).toBe(true)
  const others = await loadCertificates({ clock, serverNames: ['localhost'] })
  expect(await hasNodeCredentials({ ...options, certificates: others }, clock.now())).toBe(false)
})
