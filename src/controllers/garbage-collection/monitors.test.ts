import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { Monitors } from './monitors.ts'

let plane: ControlPlane
let monitors: Monitors
beforeEach(async () => {
  plane = await startControlPlane()
  const { client, informers } = plane
  const services = { clock: systemClock, random: seededRandom(1), log: silentLogger }
  monitors = new Monitors({ client, informers, events: { event: () => {} }, ...services })
})
afterEach(async () => {
  await monitors.stop()
  await plane[Symbol.asyncDispose]()
})

describe('Monitors', () => {
  it('follow kinds that come and go', async () => {
    const told: string[] = []
    const listener = {
      changed: (_: unknown, old: unknown, current: unknown) =>
        told.push(`${old !== undefined} ${current !== undefined}`),
      forgotten: () => told.push('forgotten'),
    }
    const maps = plane.client.resource(configMapKind).namespace('default')
    await maps.create({ metadata: { name: 'a' }, data: { big: 'content' } })
    monitors.follow(undefined, configMapKind, listener)
    monitors.follow(configMapKind, configMapKind, listener)
    await expect.poll(() => told).toEqual(['false true'])
    await maps.patch('a', { data: { big: 'other' } })
    await maps.create({ metadata: { name: 'b' } })
    await maps.delete('b')
    const changes = ['false true', 'true true', 'false true', 'true false']
    await expect.poll(() => told).toEqual(changes)
    monitors.follow(configMapKind, undefined, listener)
    expect(told).toEqual([...changes, 'forgotten'])
    await maps.delete('a')
    monitors.follow(undefined, configMapKind, listener)
    await maps.create({ metadata: { name: 'c' } })
    await expect.poll(() => told).toEqual([...changes, 'forgotten', 'false true'])
  })
})
