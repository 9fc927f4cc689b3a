import { describe, expect, it } from 'vitest'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { startControlPlane } from '../../testing/control-plane.ts'
import { FaultyController } from '../job/faults.fixture.ts'
import { endpointSliceController } from './controller.ts'
import { Objects } from './endpoints.fixture.ts'

const CAPACITY = 4

describe('slices of a Service whose controller is killed and whose writes get lost', () => {
  it.each([1, 2, 3, 4, 5, 6])('hold every pod once in the end (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const clock = new VirtualClock()
    await using plane = await startControlPlane({ clock, random: seededRandom(seed + 100) })
    await using controller = new FaultyController(plane.client.transport, clock, random, 0.2, (context) =>
      endpointSliceController(context, { maxEndpointsPerSlice: CAPACITY }),
    )
    const objects = new Objects(plane.client)
    const slices = plane.client.resource(endpointSliceKind).namespace('default')
    const pods = new Map<string, boolean>()
    await objects.node('n', 'zone')
    await objects.service('web')

    const pick = <T>(items: readonly T[]) => items[Math.floor(random.next() * items.length)]!
    const actions = [
      async (step: number) => {
        await objects.pod(`p${step}`, { ready: true })
        pods.set(`p${step}`, true)
      },
      async () => {
        if (pods.size === 0) return
        const name = pick([...pods.keys()])
        await objects.deletePod(name)
        pods.delete(name)
      },
      async () => {
        if (pods.size === 0) return
        const name = pick([...pods.keys()])
        const ready = random.next() < 0.5
        await objects.podStatus(name, { ready })
        pods.set(name, ready)
      },
      async () => {
        const { items } = await slices.list({ labelSelector: 'kubernetes.io/service-name=web' })
        // The controller may have deleted it in between.
        if (items.length > 0) await slices.delete(pick(items).metadata.name!).catch(() => {})
      },
      async (step: number) => {
        await objects.patchService('web', {
          spec: { ports: [{ port: 80, targetPort: 8000 + (step % 3), protocol: 'TCP' }] },
        })
      },
      () => controller.restart(),
    ]
    const weights = [0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 5]
    await controller.restart()
    for (let step = 0; step < 120; step++) {
      await actions[pick(weights)]!(step)
      if (random.next() < 0.3) await clock.advanceAsync(random.next() * 2000)
    }
    await expect
      .poll(
        async () => {
          await clock.advanceAsync(60_000)
          const { items } = await slices.list({ labelSelector: 'kubernetes.io/service-name=web' })
          return readinessOf(items)
        },
        { timeout: 10_000 },
      )
      .toEqual([...pods].map(([name, ready]) => `${name} ${ready}`).sort())
    const { items } = await slices.list({ labelSelector: 'kubernetes.io/service-name=web' })
    for (const { endpoints = [] } of items) expect(endpoints.length).toBeLessThanOrEqual(CAPACITY)
    expect(new Set(items.map(({ ports }) => JSON.stringify(ports))).size).toBe(1)
  })
})

function readinessOf(slices: readonly EndpointSlice[]): string[] {
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  return endpoints.map(({ targetRef, conditions }) => `${targetRef?.name} ${conditions?.ready}`).sort()
}
