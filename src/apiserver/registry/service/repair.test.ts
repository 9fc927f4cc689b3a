import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { IPAddress } from '../../../api/generated/networking-v1.ts'
import { seededRandom } from '../../../base/random.ts'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { type EmbeddedStore, openMemoryStore } from '../../../store/embedded.ts'
import { encodeObject } from '../../watch-cache/encoding.ts'
import { keepServiceAllocationsRepaired, repairServiceAllocations } from './repair.ts'
import { heldIPs, heldPorts, putServiceCIDR, ServiceWriter, serviceKey } from './service-fixture.ts'

const ipKey = (ip: string) => `/registry/ipaddresses.networking.k8s.io/${ip}`
const portKey = (port: number) => `/ranges/nodeports/${port}`

let store: EmbeddedStore
let writer: ServiceWriter
let clock: VirtualClock

beforeEach(async () => {
  store = openMemoryStore()
  writer = new ServiceWriter(store)
  clock = new VirtualClock()
  await putServiceCIDR(store, 'kubernetes', ['10.96.0.0/16'])
})

afterEach(async () => {
  writer[Symbol.dispose]()
  await store[Symbol.asyncDispose]()
})

const options = () => ({ store, random: seededRandom(9), clock, encode: encodeObject })
const repair = () => repairServiceAllocations(options())
const NOTHING = { released: [], restored: [], clashes: [] }

const web = (clusterIP: string, nodePort: number) =>
  writer.create('web', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort }] })

async function readIP(ip: string): Promise<IPAddress> {
  return JSON.parse((await store.get(ipKey(ip)))!.value.toString())
}

describe('repair', () => {
  it('finds nothing to do where all is well', async () => {
    await web('10.96.0.9', 30009)
    await writer.create('local', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 80 }] })
    await writer.create('headless', { clusterIP: 'None' })
    const before = await store.revision()
    expect(await repair()).toEqual(NOTHING)
    expect(await store.revision()).toBe(before)
  })

  it('gives back what belongs to no Service', async () => {
    await web('10.96.0.9', 30009)
    await store.commit([], [{ key: serviceKey('web') }])
    expect(await repair()).toEqual({ ...NOTHING, released: [ipKey('10.96.0.9'), portKey(30009)] })
    expect(await heldIPs(store)).toEqual([])
    expect(await heldPorts(store)).toEqual([])
    expect(await repair()).toEqual(NOTHING)
  })

  it('gives back what its Service no longer uses', async () => {
    await web('10.96.0.9', 30009)
    const { old } = await writer.read('web')
    const spec = { ...old.spec, clusterIP: '10.96.0.8', clusterIPs: ['10.96.0.8'] }
    await store.commit([], [{ key: serviceKey('web'), ...encodeObject({ ...old, spec } as typeof old) }])
    expect(await repair()).toEqual({ ...NOTHING, released: [ipKey('10.96.0.9')], restored: [ipKey('10.96.0.8')] })
  })

  it('takes again what a Service uses', async () => {
    await web('10.96.0.9', 30009)
    await store.commit([], [{ key: ipKey('10.96.0.9') }, { key: portKey(30009) }])
    expect(await repair()).toEqual({ ...NOTHING, restored: [ipKey('10.96.0.9'), portKey(30009)] })
    expect((await readIP('10.96.0.9')).spec.parentRef).toEqual({
      resource: 'services',
      namespace: 'default',
      name: 'web',
    })
    await writer.delete('web')
    expect(await heldIPs(store)).toEqual([])
    expect(await heldPorts(store)).toEqual([])
  })

  it('sets a wrong owner right', async () => {
    await web('10.96.0.9', 30009)
    const object = await readIP('10.96.0.9')
    object.spec.parentRef.name = 'somebody'
    await store.commit([], [{ key: ipKey('10.96.0.9'), ...encodeObject(object) }])
    expect(await repair()).toEqual({ ...NOTHING, restored: [ipKey('10.96.0.9')] })
    expect((await readIP('10.96.0.9')).spec.parentRef.name).toBe('web')
  })

  it('reports two Services with one address, and leaves it to the older', async () => {
    await web('10.96.0.9', 30009)
    const { old } = await writer.read('web')
    const twin = { ...old, metadata: { ...old.metadata, name: 'twin', uid: 'twin' } }
    await store.commit([], [{ key: serviceKey('a-twin'), ...encodeObject(twin) }])
    expect(await repair()).toEqual({ ...NOTHING, clashes: [ipKey('10.96.0.9'), portKey(30009)] })
    expect((await readIP('10.96.0.9')).spec.parentRef.name).toBe('web')
  })

  it('leaves addresses alone that others registered', async () => {
    const object: IPAddress = {
      kind: 'IPAddress',
      apiVersion: 'networking.k8s.io/v1',
      metadata: { name: '10.96.0.77' },
      spec: { parentRef: { group: 'gateway.networking.k8s.io', resource: 'gateways', name: 'gw' } },
    }
    await store.commit([], [{ key: ipKey('10.96.0.77'), ...encodeObject(object) }])
    expect(await repair()).toEqual(NOTHING)
    expect(await heldIPs(store)).toEqual(['10.96.0.77'])
  })

  it('does not disturb Services that come and go meanwhile', async () => {
    const churn = Array.from({ length: 30 }, async (_, i) => {
      await writer.create(`s${i}`, { type: 'NodePort', ports: [{ port: 80 }] })
      if (i % 2 === 0) await writer.delete(`s${i}`)
    })
    const reports = await Promise.all([repair(), repair(), repair(), ...churn])
    expect(reports.slice(0, 3)).toEqual([NOTHING, NOTHING, NOTHING])
    expect(await repair()).toEqual(NOTHING)
    expect(await heldIPs(store)).toHaveLength(15)
  })

  it('runs again every few minutes until it is stopped', async () => {
    const stop = new AbortController()
    const failures: unknown[] = []
    const running = keepServiceAllocationsRepaired({ ...options(), interval: 1000 }, stop.signal, (error) => {
      failures.push(error)
    })
    for (let round = 0; round < 3; round++) {
      await store.commit(
        [],
        [{ key: portKey(30005), value: Buffer.from('{"namespace":"default","name":"x","uid":"x"}') }],
      )
      while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
      if (round > 0) expect(await heldPorts(store)).toEqual([30005])
      clock.advance(1000)
      while ((await heldPorts(store)).length > 0) await new Promise((resolve) => setImmediate(resolve))
    }
    stop.abort()
    await running
    expect(failures).toEqual([])
  })
})
