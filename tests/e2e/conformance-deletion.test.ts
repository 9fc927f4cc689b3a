import { describe, expect } from 'vitest'
import { deploymentKind } from '../../src/api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../src/api/kinds/apps/replica-set/kind.ts'
import { namespaceKind } from '../../src/api/kinds/core/namespace.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { replicationControllerKind } from '../../src/api/kinds/core/replication-controller.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { conformanceTest, names, ownerOf, pod, template, workload } from '../tools/conformance.ts'

/** What the conformance suite asks of what goes along with its owner or namespace, in our own words; see docs/conformance.md. */

const controller = (name: string, replicas: number) => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name },
  spec: { replicas, selector: { app: name }, template: template(name) },
})
const controllers = (bench: ConformanceBench) => bench.of(replicationControllerKind)

describe('the garbage collector', () => {
  conformanceTest('deletes the pods of a controller that goes in the background', async (bench) => {
    await bench.apply(controller('web', 2))
    await bench.settled()
    expect(await bench.pods()).toHaveLength(2)
    await controllers(bench).delete('web', { propagationPolicy: 'Background' })
    expect(await bench.codeOf(controllers(bench).get('web'))).toBe(404)
    await bench.settled()
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('leaves orphans where it is told to', async (bench) => {
    await bench.apply(controller('web', 10))
    await bench.settled()
    const before = names(await bench.pods())
    await controllers(bench).delete('web', { propagationPolicy: 'Orphan' })
    await bench.clock.advance('1m')
    expect(await bench.codeOf(controllers(bench).get('web'))).toBe(404)
    const left = await bench.pods()
    expect(names(left)).toEqual(before)
    expect(left.flatMap(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([])
  })

  conformanceTest('keeps a controller that goes in the foreground until its last pod is gone', async (bench) => {
    await bench.apply(controller('web', 10))
    await bench.settled()
    const [held] = names(await bench.pods())
    await bench.of(podKind).patch(held!, { metadata: { finalizers: ['example.com/hold'] } })
    await controllers(bench).delete('web', { propagationPolicy: 'Foreground' })
    await bench.clock.advance('1m')
    expect(names(await bench.pods())).toEqual([held])
    expect((await controllers(bench).get('web')).metadata.finalizers).toContain('foregroundDeletion')
    await bench.of(podKind).patch(held!, { metadata: { finalizers: null } })
    await bench.clock.advance('1m')
    expect(await bench.codeOf(controllers(bench).get('web'))).toBe(404)
  })

  conformanceTest('spares what has another owner that stays', async (bench) => {
    await bench.apply([controller('goes', 10), controller('stays', 0)])
    await bench.settled()
    const { metadata } = await controllers(bench).get('stays')
    const stays = { apiVersion: 'v1', kind: 'ReplicationController', name: 'stays', uid: metadata.uid! }
    const half = (await bench.pods()).slice(0, 5)
    for (const one of half) {
      const ownerReferences = [...(one.metadata.ownerReferences ?? []), stays]
      await bench.of(podKind).patch(one.metadata.name!, { metadata: { ownerReferences } })
    }
    await controllers(bench).delete('goes', { propagationPolicy: 'Foreground' })
    await bench.clock.advance('1m')
    expect(await bench.codeOf(controllers(bench).get('goes'))).toBe(404)
    const left = await bench.pods()
    expect(names(left)).toEqual(names(half))
    for (const { metadata } of left) {
      expect(metadata.deletionTimestamp).toBeUndefined()
      expect(metadata.ownerReferences).toMatchObject([{ name: 'stays' }])
    }
  })

  conformanceTest('is not stopped by owners in a circle', async (bench) => {
    const made = await Promise.all(['one', 'two', 'three'].map((name) => bench.of(podKind).create(pod(name))))
    for (const [index, { metadata }] of made.entries()) {
      const owner = made[(index + 2) % 3]!.metadata
      const reference = { apiVersion: 'v1', kind: 'Pod', name: owner.name, uid: owner.uid, controller: true }
      const ownerReferences = [{ ...reference, blockOwnerDeletion: true }]
      await bench.of(podKind).patch(metadata.name!, { metadata: { ownerReferences } })
    }
    await bench.settled()
    expect(await bench.pods()).toHaveLength(3)
    await bench.of(podKind).delete('one', { propagationPolicy: 'Foreground' })
    await bench.clock.advance('1m')
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('takes the ReplicaSet and the pods of a Deployment along', async (bench) => {
    await bench.apply(workload('Deployment', 'web', { replicas: 2 }))
    await bench.settled()
    await bench.of(deploymentKind).delete('web', { propagationPolicy: 'Background' })
    await bench.clock.advance('1m')
    expect((await bench.of(replicaSetKind).list()).items).toEqual([])
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('orphans the ReplicaSet of a Deployment where it is told to', async (bench) => {
    await bench.apply(workload('Deployment', 'web', { replicas: 2 }))
    await bench.settled()
    await bench.of(deploymentKind).delete('web', { propagationPolicy: 'Orphan' })
    await bench.clock.advance('1m')
    expect((await bench.of(deploymentKind).list()).items).toEqual([])
    const sets = (await bench.of(replicaSetKind).list()).items
    expect(sets.map(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([[]])
    for (const one of await bench.pods()) expect(ownerOf(one)).toMatchObject({ name: sets[0]!.metadata.name })
    expect(await bench.pods()).toHaveLength(2)
  })
})

describe('a namespace', () => {
  const namespaces = (bench: ConformanceBench) => bench.client.resource(namespaceKind)

  conformanceTest('takes its services along', async (bench) => {
    await namespaces(bench).create({ metadata: { name: 'gone' } })
    const services = bench.client.resource(serviceKind).namespace('gone')
    await services.create({ metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } })
    await namespaces(bench).delete('gone')
    await bench.clock.advance('1m')
    expect(await bench.codeOf(namespaces(bench).get('gone'))).toBe(404)
    await namespaces(bench).create({ metadata: { name: 'gone' } })
    expect((await services.list()).items).toEqual([])
  })

  conformanceTest('is patched and updated', async (bench) => {
    await namespaces(bench).create({ metadata: { name: 'changed' } })
    const patched = await namespaces(bench).patch('changed', { metadata: { labels: { patched: 'yes' } } })
    expect(patched.metadata.labels).toMatchObject({ patched: 'yes', 'kubernetes.io/metadata.name': 'changed' })
    const labels = { ...patched.metadata.labels, updated: 'yes' }
    await namespaces(bench).update({ ...patched, metadata: { ...patched.metadata, labels } })
    const { metadata } = await namespaces(bench).get('changed')
    expect(metadata.labels).toEqual(labels)
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(patched.metadata.resourceVersion))
  })

  conformanceTest('has a status that is patched and updated', async (bench) => {
    const { status } = (await namespaces(bench).subresource('get', 'default', 'status')) as { status?: object }
    expect(status).toEqual({ phase: 'Active' })
    const condition = (type: string) => ({ type, status: 'True' as const, reason: 'Tested', message: 'by a test' })
    const patch = { metadata: { annotations: { patched: 'yes' } }, status: { conditions: [condition('Patched')] } }
    const patched = await namespaces(bench).patch('default', patch, { subresource: 'status' })
    expect(patched.metadata.annotations).toMatchObject({ patched: 'yes' })
    expect(patched.status).toMatchObject(patch.status)
    const conditions = [...(patched.status?.conditions ?? []), condition('Updated')]
    const updated = await namespaces(bench).updateStatus({ ...patched, status: { ...patched.status, conditions } })
    expect(updated.status).toMatchObject({ phase: 'Active', conditions: [{ type: 'Patched' }, { type: 'Updated' }] })
  })

  conformanceTest('takes finalizers by its own door, and stays for them', async (bench) => {
    const finalize = async (finalizers: (before: readonly string[]) => readonly string[]) => {
      const current = await namespaces(bench).get('held')
      const spec = { finalizers: finalizers(current.spec?.finalizers ?? []) }
      await namespaces(bench).subresource('update', 'held', 'finalize', { ...current, spec })
      return (await namespaces(bench).get('held')).spec?.finalizers
    }
    await namespaces(bench).create({ metadata: { name: 'held' } })
    const ours = 'example.com/hold'
    expect(await finalize((before) => [...before, ours])).toEqual(['kubernetes', ours])
    await namespaces(bench).delete('held')
    await bench.clock.advance('1m')
    expect((await namespaces(bench).get('held')).status?.phase).toBe('Terminating')
    await bench.codeOf(finalize((before) => before.filter((one) => one !== ours)))
    await bench.clock.advance('1m')
    expect(await bench.codeOf(namespaces(bench).get('held'))).toBe(404)
  })
})
