import { expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type Address, kubernetesEndpoints } from './kubernetes-service.ts'
import { keepServerLeases } from './server-leases.ts'

const A = { host: '192.0.2.1', port: 6443 }
const B = { host: '192.0.2.2', port: 6443 }

test('all servers of a store are told of, those that ended or died are not', async () => {
  await using store = await openMemoryStore()
  const clock = new VirtualClock(0)
  let told: readonly Address[] = []
  const start = async (own: Address, context = { store, clock, log: silentLogger }) => {
    const leases = keepServerLeases(context, own, async (servers) => {
      told = servers
    })
    await leases.published
    return leases
  }
  const first = await start(A)
  expect(told).toEqual([A])
  // One whose clock stands still renews nothing: as if it had died.
  await start(B, { store, clock: new VirtualClock(0), log: silentLogger })
  expect(told).toEqual([A, B])
  await clock.advance(10_000)
  await expect.poll(() => clock.pending).toBe(1)
  expect(told).toEqual([A, B])
  await clock.advance(10_000)
  await expect.poll(() => told).toEqual([A])
  const second = await start(B)
  await first[Symbol.asyncDispose]()
  expect(told).toEqual([B])
  await second[Symbol.asyncDispose]()
})

test('servers on several ports share the Endpoints; the slice has those on the port of the first', () => {
  const [endpoints, slice] = kubernetesEndpoints([B, { host: '192.0.2.1', port: 7443 }, A])
  expect(endpoints).toMatchObject({
    subsets: [
      { addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }], ports: [{ port: 6443 }] },
      { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 7443 }] },
    ],
  })
  expect(slice).toMatchObject({
    endpoints: [{ addresses: ['192.0.2.1'] }, { addresses: ['192.0.2.2'] }],
    ports: [{ port: 6443 }],
  })
})
