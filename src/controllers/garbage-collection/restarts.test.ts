import { afterEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { namespaceController } from '../namespace/controller.ts'
import { runControllers } from '../runner.ts'
import { garbageCollectionController } from './controller.ts'

const OBJECTS = 40
const POLICIES = ['Background', 'Foreground', 'Orphan'] as const

async function runOn(plane: ControlPlane, seed: number) {
  const transport = plane.server.transport({ name: 'system:kube-controller-manager', groups: ['system:masters'] })
  const services = { clock: systemClock, random: seededRandom(seed), log: silentLogger }
  const informers = createInformerFactory({ transport, ...services })
  const context = { client: createClient(transport), informers, events: { event: () => {} }, ...services }
  const runner = await runControllers([garbageCollectionController(context), namespaceController(context)], services)
  return async () => {
    await runner[Symbol.asyncDispose]()
    await informers[Symbol.asyncDispose]()
  }
}

type Policy = (typeof POLICIES)[number]
type Draw = (limit: number) => number

/** Trees of objects: who owns whom, by name. */
async function plant(plane: ControlPlane, draw: Draw): Promise<Map<string, string | undefined>> {
  const maps = plane.client.resource(configMapKind).namespace('default')
  const ownerOf = new Map<string, string | undefined>()
  const uids: string[] = []
  for (let i = 0; i < OBJECTS; i++) {
    const owner = i === 0 || draw(3) === 0 ? undefined : draw(i)
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: `o${owner}`, uid: uids[owner ?? 0] ?? '' }
    const ownerReferences = owner === undefined ? [] : [{ ...reference, blockOwnerDeletion: draw(2) === 0 }]
    ownerOf.set(`o${i}`, owner === undefined ? undefined : `o${owner}`)
    uids.push((await maps.create({ metadata: { name: `o${i}`, ownerReferences } })).metadata.uid!)
  }
  return ownerOf
}

/** Deletes some roots, each in its own way, while the controllers die and come back. */
async function fell(plane: ControlPlane, roots: readonly string[], draw: Draw): Promise<Map<string, Policy>> {
  const policies = new Map<string, Policy>()
  let stop = await runOn(plane, draw(1000))
  for (const name of roots) {
    if (draw(2) === 0) continue
    const policy = POLICIES[draw(POLICIES.length)]!
    policies.set(name, policy)
    await plane.client.resource(configMapKind).namespace('default').delete(name, { propagationPolicy: policy })
    for (let turns = draw(6); turns > 0; turns--) await new Promise(setImmediate)
    if (draw(2) === 0) {
      await stop()
      stop = await runOn(plane, draw(1000))
    }
  }
  await plane.client.resource(namespaceKind).delete('ending')
  await stop()
  return policies
}

async function survive(seed: number) {
  const random = seededRandom(seed)
  const draw: Draw = (limit) => Math.floor(random.next() * limit)
  plane = await startControlPlane()
  const namespaces = plane.client.resource(namespaceKind)
  await namespaces.create({ metadata: { name: 'ending' } })
  await plane.client
    .resource(configMapKind)
    .namespace('ending')
    .create({ metadata: { name: 'content' } })
  const ownerOf = await plant(plane, draw)
  const roots = [...ownerOf.keys()].filter((name) => ownerOf.get(name) === undefined)
  const policies = await fell(plane, roots, draw)
  const survives = (name: string): boolean => {
    const owner = ownerOf.get(name)
    if (owner === undefined) return !policies.has(name)
    return policies.get(owner) === 'Orphan' || survives(owner)
  }
  stop = await runOn(plane, seed)
  const names = async () => (await plane!.client.resource(configMapKind).namespace('default').list()).items.map(nameOf)
  await expect.poll(names, { timeout: 5000 }).toEqual([...ownerOf.keys()].filter(survives).sort())
  await expect.poll(async () => (await namespaces.list()).items.map(nameOf)).not.toContain('ending')
}

const nameOf = ({ metadata }: KubernetesObject) => metadata.name ?? ''

let plane: ControlPlane | undefined
let stop = async () => {}
afterEach(async () => {
  await stop()
  await plane?.[Symbol.asyncDispose]()
})

describe('controllers that are killed at any moment', () => {
  it.each(Array.from({ length: 12 }, (_, i) => i + 1))('delete what must go and nothing else: seed %i', survive)
})
