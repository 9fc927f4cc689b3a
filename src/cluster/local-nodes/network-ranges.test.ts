import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { adoptRanges, networkRanges, rangesIn, USUAL_RANGES } from './network-ranges.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'sampan-ranges-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const folder = (name: string) => path.join(root, name)

function linuxWith(...addresses: string[]) {
  const linux = fakeLinux()
  using network = linux.openRtnetlink()
  const { index } = network.addLink({ kind: 'bridge', name: 'lan', up: true })
  for (const address of addresses) network.addAddress({ link: index, address })
  return linux
}

it.each([
  ['nothing of the kind', ['192.168.1.10/24'], '10.96.0.0/16'],
  ['pods of something else', ['10.244.3.1/24'], '10.101.0.0/16'],
  ['Services of something else', ['10.96.0.1/32'], '10.101.0.0/16'],
  ['load balancers of something else, and more', ['10.98.0.7/32', '10.245.0.1/16'], '10.102.0.0/16'],
  ['a network that claims all', ['10.1.2.3/8'], '10.96.0.0/16'],
])('on a machine with %s', async (_, addresses, services) => {
  expect((await networkRanges(folder('one'), linuxWith(...addresses), false)).services).toBe(services)
})

it('are chosen once, and no two clusters have the same', async () => {
  const linux = linuxWith()
  const one = await networkRanges(folder('one'), linux, false)
  const two = await networkRanges(folder('two'), linux, false)
  expect(one).toEqual(USUAL_RANGES)
  expect(rangesIn(two).filter((range) => rangesIn(one).includes(range))).toEqual([])
  expect(await networkRanges(folder('two'), linuxWith('10.245.0.1/16'), false)).toEqual(two)
})

it('are the usual ones where there is a state that does not tell', async () => {
  mkdirSync(path.join(folder('old'), 'store'), { recursive: true })
  expect(await networkRanges(folder('old'), linuxWith('10.244.0.1/24'), false)).toEqual(USUAL_RANGES)
})

it('are the usual ones where others must know them too, unless there are some', async () => {
  const linux = linuxWith('10.244.0.1/24')
  expect(await networkRanges(folder('one'), linux, true)).toEqual(USUAL_RANGES)
  const chosen = await networkRanges(folder('one'), linux, false)
  expect(chosen).not.toEqual(USUAL_RANGES)
  expect(await networkRanges(folder('one'), linux, true)).toEqual(chosen)
})

it('come with a state from elsewhere', async () => {
  await using store = openMemoryStore()
  const value = Buffer.from(JSON.stringify({ spec: { cidrs: ['10.103.0.0/16'] } }))
  await store.commit([], [{ key: '/registry/servicecidrs/kubernetes', value }])
  await networkRanges(folder('one'), linuxWith(), false)
  await adoptRanges(folder('one'), store)
  expect((await networkRanges(folder('one'), linuxWith(), false)).pods).toBe('10.247.0.0/16')
})
