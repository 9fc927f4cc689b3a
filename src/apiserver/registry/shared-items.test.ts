import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { createClient, type ResourceClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, startApiServer } from '../server.ts'

describe('an update that shares items with the stored object', () => {
  let slices: ResourceClient<EndpointSlice>
  let store: AsyncDisposable
  let server: ApiServer
  beforeAll(async () => {
    const memory = await openMemoryStore()
    store = memory
    const options = { clock: systemClock, random: seededRandom(1), log: silentLogger, serviceCidrs: ['10.96.0.0/16'] }
    server = await startApiServer({ store: memory, ...options })
    slices = createClient(server.transport({ name: 'u', groups: ['system:masters'] }, 'test'))
      .resource(endpointSliceKind)
      .namespace('default')
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3']
  const create = async (name: string) => {
    await slices.create({
      metadata: { name },
      addressType: 'IPv4',
      endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
      ports: [{ name: '', port: 80, protocol: 'TCP' }],
    })
    return slices.get(name)
  }

  it('keeps them and stores the others', async () => {
    const created = await create('some')
    const changed = { addresses: ['10.0.0.2'], conditions: { ready: false } }
    const updated = await slices.update({ ...created, endpoints: created.endpoints!.with(1, changed) })
    expect(updated.endpoints![0]).toBe(created.endpoints![0])
    expect(updated.endpoints![1]).not.toBe(changed)
    expect(updated.endpoints).toEqual([created.endpoints![0], changed, created.endpoints![2]])
    expect(updated.metadata.generation).toBe(2)
    const fresh = await server.transport({ name: 'u', groups: ['system:masters'] }, 'other').call({
      verb: 'get',
      resource: endpointSliceKind,
      namespace: 'default',
      name: 'some',
    })
    expect(fresh).toEqual(updated)
  })

  it('takes items away and puts them in another order', async () => {
    const created = await create('order')
    const [first, , third] = created.endpoints!
    const updated = await slices.update({ ...created, endpoints: [third!, first!] })
    expect(updated.endpoints).toEqual([third, first])
    expect((await slices.get('order')).endpoints).toEqual([third, first])
  })

  it('checks what is new', async () => {
    const created = await create('checked')
    const bad = { addresses: ['10.0.0.300'] }
    await expect(slices.update({ ...created, endpoints: created.endpoints!.with(1, bad) })).rejects.toThrow(
      'endpoints[1].addresses[0]: Invalid value: "10.0.0.300"',
    )
    const unknown = { addresses: ['10.0.0.4'], nonsense: true } as never
    const updated = await slices.update({ ...created, endpoints: [...created.endpoints!, unknown] })
    expect(updated.endpoints![3]).toEqual({ addresses: ['10.0.0.4'] })
  })
})
