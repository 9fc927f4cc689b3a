import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { createClient } from './client.ts'
import { FakeApi } from './fake/fake-api.ts'
import { type LeaderElectionOptions, runLeaderElection } from './leader-election.ts'

const LEASES = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true }
let api: FakeApi
let clock: VirtualClock
let log: string[]
let leading: Set<string>
const running: { stop: AbortController; done: Promise<void> }[] = []

beforeEach(() => {
  api = new FakeApi()
  clock = new VirtualClock()
  log = []
  leading = new Set()
})
afterEach(async () => {
  for (const { stop, done } of running.splice(0)) {
    stop.abort()
    await clock.advanceAsync(100)
    await done.catch(() => {})
  }
})

function candidate(identity: string, more: Partial<LeaderElectionOptions> = {}, transport = api as FakeApi) {
  const stop = new AbortController()
  const done = runLeaderElection({
    client: createClient(transport),
    clock,
    random: seededRandom(identity.length),
    log: silentLogger,
    namespace: 'kube-system',
    name: 'lock',
    identity,
    signal: stop.signal,
    lead: (signal, term) => {
      expect([...leading]).toEqual([])
      leading.add(identity)
      log.push(`${identity} leads (${term})`)
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          leading.delete(identity)
          log.push(`${identity} stops`)
          resolve()
        })
      })
    },
    ...more,
  })
  running.push({ stop, done })
  return { stop: () => stop.abort(), done }
}
const lease = () =>
  createClient(api).resource<never>(LEASES).namespace('kube-system').get('lock') as Promise<{ spec: object }>

test('the first leads, the second waits, and follows at once when the first stops', async () => {
  const a = candidate('a')
  await clock.advanceAsync(10)
  candidate('b')
  await clock.advanceAsync(60_000)
  expect(log).toEqual(['a leads (0)'])
  expect((await lease()).spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 })
  a.stop()
  await clock.advanceAsync(3_500)
  expect(log).toEqual(['a leads (0)', 'a stops', 'b leads (1)'])
  await a.done
})

test('a leader that cannot reach the API stops before another may start', async () => {
  const cut = new FakeApi()
  let isCut = false
  cut.call = (call) => (isCut ? Promise.reject(new Error('unreachable')) : api.call(call))
  candidate('a', {}, cut)
  await clock.advanceAsync(10)
  candidate('b')
  await clock.advanceAsync(5_000)
  isCut = true
  await clock.advanceAsync(8_500)
  expect(log).toEqual(['a leads (0)'])
  await clock.advanceAsync(20_000)
  expect(log).toEqual(['a leads (0)', 'a stops', 'b leads (1)'])
})

test('a leader whose renewal hangs stops as well', async () => {
  const hung = new FakeApi()
  let isHung = false
  hung.call = (call) => (isHung ? new Promise(() => {}) : api.call(call))
  candidate('a', {}, hung)
  await clock.advanceAsync(10)
  isHung = true
  await clock.advanceAsync(12_000)
  expect(log).toEqual(['a leads (0)', 'a stops'])
  isHung = false
  await clock.advanceAsync(30_000)
  expect(log.at(-1)).toBe('a leads (0)')
})

test('a crashed leader is followed after its lease ran out, whatever its clock said', async () => {
  const spec = {
    holderIdentity: 'dead',
    leaseDurationSeconds: 15,
    renewTime: '2099-01-01T00:00:00.000000Z',
    leaseTransitions: 4,
  }
  await createClient(api)
    .resource<never>(LEASES)
    .namespace('kube-system')
    .create({ metadata: { name: 'lock' }, spec } as never)
  const seen: string[] = []
  candidate('b', { onNewLeader: (identity) => seen.push(identity) })
  await clock.advanceAsync(14_000)
  expect(log).toEqual([])
  await clock.advanceAsync(4_000)
  expect(log).toEqual(['b leads (5)'])
  expect(seen).toEqual(['dead', 'b'])
})

test('work that ends gives the lease up; work that fails ends the election with its error', async () => {
  const failed = candidate('a', { lead: () => Promise.reject(new Error('broken')) })
  const outcome = expect(failed.done).rejects.toThrow('broken')
  await clock.advanceAsync(5_000)
  await outcome
  expect((await lease()).spec).toMatchObject({ holderIdentity: '' })
})
