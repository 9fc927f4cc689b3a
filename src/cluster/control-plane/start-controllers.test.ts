import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ApiServer, startApiServer } from '../../apiserver/server.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { createClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import type { Store } from '../../store/store.ts'
import { loadCertificates } from '../certificates.ts'
import { certificateSigner } from './certificate-signer.ts'
import { type RunningControllers, startControllers } from './start-controllers.ts'

const SERVICE_ACCOUNTS = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true }
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', namespaced: false }
const LEASES = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true }

let clock: VirtualClock
let store: Store
let server: ApiServer
const running: RunningControllers[] = []
beforeEach(async () => {
  clock = new VirtualClock()
  store = await openMemoryStore()
  const options = { store, clock, random: seededRandom(1), log: silentLogger }
  server = await startApiServer({ ...options, serviceCidrs: ['10.96.0.0/16'] })
})
afterEach(async () => {
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

const transport = () => server.transport({ name: 'system:kube-controller-manager', groups: ['system:masters'] })
const client = () => createClient(transport())
async function start(seed: number, isShared: boolean, names = ['serviceaccount-controller']) {
  const certificates = await loadCertificates({ clock, serverNames: ['localhost'] })
  const started = await startControllers({
    transport: transport(),
    rootCertificate: certificates.ca.cert,
    certificateSigner: certificateSigner(certificates),
    clock,
    random: seededRandom(seed),
    log: silentLogger,
    names,
    isShared,
  })
  running.push(started)
  return started
}
const hasAccount = async (namespace: string) => {
  await clock.advanceAsync(100)
  return (await client().resource(SERVICE_ACCOUNTS).namespace(namespace).list()).items.length === 1
}
const holder = async () => {
  const lease = await client().resource(LEASES).namespace('kube-system').get('kube-controller-manager')
  return (lease as { spec?: { holderIdentity?: string } }).spec?.holderIdentity
}

describe('startControllers', () => {
  it('alone, runs them at once and needs no Lease', async () => {
    await start(1, false)
    await expect.poll(() => hasAccount('default')).toBe(true)
    expect((await client().resource(LEASES).namespace('kube-system').list()).items).toEqual([])
  })

  it('among several, one leads, and the next takes over when it ends', async () => {
    const first = await start(1, true)
    await expect.poll(() => hasAccount('default')).toBe(true)
    const leader = await holder()
    await start(2, true)
    await clock.advanceAsync(10_000)
    expect(await holder()).toBe(leader)
    running.splice(0, 1)
    await first[Symbol.asyncDispose]()
    await client()
      .resource(NAMESPACES)
      .create({ metadata: { name: 'later' } })
    expect(await hasAccount('later')).toBe(false)
    await clock.advanceAsync(10_000)
    await expect.poll(() => hasAccount('later')).toBe(true)
    expect(await holder()).not.toBe(leader)
  })

  it('refuses names that nobody has', async () => {
    await expect(start(1, false, ['nobody'])).rejects.toThrow('there is no controller nobody')
  })
})
