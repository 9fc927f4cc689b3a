import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openEtcdStore } from '../../src/store/etcd.ts'
import { etcdMissing, type LocalEtcd, type LocalEtcdCluster, startLocalEtcd } from '../../src/store/local-etcd.ts'
import { type Change, type Revision, type Store, UnavailableError } from '../../src/store/store.ts'

const missing = etcdMissing()
const WRITERS = 6
/** Commits acknowledged before the leader dies, and again afterwards. */
const COMMITS = 300

async function leaderOf(cluster: LocalEtcdCluster): Promise<LocalEtcd> {
  for (const member of cluster.members) {
    const response = await fetch(`${member.endpoint}/v3/maintenance/status`, { method: 'POST', body: '{}' })
    const status = (await response.json()) as { header: { member_id: string }; leader: string }
    if (status.leader === status.header.member_id) return member
  }
  throw new Error('there is no leader')
}

/** Writes under its own keys until told to stop; remembers what was acknowledged. */
class Writers {
  readonly acknowledged = new Map<string, { value: string; revision: Revision }>()
  unknown = 0
  #stopped = false
  readonly #running: Promise<unknown>

  constructor(store: Store) {
    this.#running = Promise.all(Array.from({ length: WRITERS }, (_, i) => this.#write(store, i)))
  }

  async #write(store: Store, writer: number): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const key = `/w/${writer}/${i}`
      try {
        const revision = await store.commit([{ key, revision: 0 }], [{ key, value: Buffer.from(`v${i}`) }])
        this.acknowledged.set(key, { value: `v${i}`, revision })
      } catch (error) {
        expect(error).toBeInstanceOf(UnavailableError)
        this.unknown++
      }
    }
  }

  async reach(count: number): Promise<void> {
    await expect.poll(() => this.acknowledged.size, { timeout: 40_000, interval: 20 }).toBeGreaterThanOrEqual(count)
  }

  stop(): Promise<unknown> {
    this.#stopped = true
    return this.#running
  }
}

async function collect(store: Store, after: Revision, upTo: Promise<Revision>, into: Change[]): Promise<void> {
  const abort = new AbortController()
  let last = Number.POSITIVE_INFINITY
  void upTo.then((revision) => {
    last = revision
  })
  for await (const batch of store.watch('', after, abort.signal)) {
    into.push(...batch.changes)
    if (batch.revision >= last) break
  }
  abort.abort()
}

describe.skipIf(missing !== undefined)(`etcd ${missing ?? ''}`, () => {
  it('loses no commit and no change when the leader dies', { timeout: 90_000 }, async () => {
    const cluster = await startLocalEtcd(3)
    const store = await openEtcdStore({ endpoints: cluster.endpoints, timeout: 10_000 })
    try {
      const start = await store.revision()
      let finish: (revision: Revision) => void = () => {}
      const finished = new Promise<Revision>((resolve) => {
        finish = resolve
      })
      const seen = Array.from({ length: 3 }, (): Change[] => [])
      const watching = seen.map((changes) => collect(store, start, finished, changes))
      const writers = new Writers(store)
      await writers.reach(COMMITS)
      await (await leaderOf(cluster)).kill()
      await writers.reach(writers.acknowledged.size + COMMITS)
      await writers.stop()
      const before = await store.revision()
      finish(before + 1)
      await store.commit([], [{ key: '/end', value: Buffer.from('end') }])
      await Promise.all(watching)
      const entries = new Map((await store.list('')).entries.map((entry) => [entry.key, entry]))
      for (const [key, { value, revision }] of writers.acknowledged) {
        expect([key, String(entries.get(key)?.value), entries.get(key)?.revision]).toEqual([key, value, revision])
      }
      for (const changes of seen) {
        expect(changes.map((change) => change.revision)).toEqual(
          Array.from({ length: before + 1 - start }, (_, i) => start + 1 + i),
        )
      }
      console.log(
        `${writers.acknowledged.size} commits, ${writers.unknown} of unknown outcome while there was no leader`,
      )
    } finally {
      await store[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
    }
  })

  it('speaks TLS with a client certificate, and is refused without', { timeout: 60_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sampan-tls-'))
    const file = (name: string) => join(directory, name)
    makeCertificates(directory)
    const cluster = await startLocalEtcd(1, { ca: file('ca.pem'), cert: file('server.pem'), key: file('server.key') })
    const { endpoints } = cluster
    const ca = readFileSync(file('ca.pem'))
    try {
      const tls = { ca, cert: readFileSync(file('client.pem')), key: readFileSync(file('client.key')) }
      const store = await openEtcdStore({ endpoints, tls, timeout: 20_000 })
      const revision = await store.commit([], [{ key: '/a', value: Buffer.from('secret') }])
      expect(await store.get('/a')).toMatchObject({ revision })
      await store[Symbol.asyncDispose]()
      await expect(openEtcdStore({ endpoints, tls: { ca }, timeout: 1500 })).rejects.toThrow(UnavailableError)
      const { ca: _, ...untrusting } = tls
      await expect(openEtcdStore({ endpoints, tls: untrusting, timeout: 1500 })).rejects.toThrow(UnavailableError)
    } finally {
      await cluster[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true })
    }
  })
})

/** A certificate authority, and a certificate of it for the server and for the client. */
function makeCertificates(directory: string): void {
  const openssl = (...options: string[]) => execFileSync('openssl', options, { cwd: directory, stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test-ca')
  writeFileSync(join(directory, 'server.ext'), 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n')
  writeFileSync(join(directory, 'client.ext'), 'extendedKeyUsage=clientAuth\n')
  for (const name of ['server', 'client']) {
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`]
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signing)
  }
}
