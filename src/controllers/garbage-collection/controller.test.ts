import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { clusterRoleKind } from '../../api/kinds/rbac/cluster-role.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { garbageCollectionController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [garbageCollectionController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const maps = (namespace = 'default') => plane.client.resource(configMapKind).namespace(namespace)
const refTo = (owner: KubernetesObject, blockOwnerDeletion = true) => ({
  apiVersion: owner.apiVersion ?? 'v1',
  kind: owner.kind ?? 'ConfigMap',
  name: owner.metadata.name ?? '',
  uid: owner.metadata.uid ?? '',
  blockOwnerDeletion,
})
const create = (name: string, owners: KubernetesObject[] = [], finalizers: string[] = []) =>
  maps().create({ metadata: { name, ownerReferences: owners.map((owner) => refTo(owner)), finalizers } })
const names = async () => (await maps().list()).items.map(({ metadata }) => metadata.name).sort()
const ownerNames = async (name: string) => (await maps().get(name)).metadata.ownerReferences?.map((one) => one.name)

describe('garbageCollectionController', () => {
  it('deletes dependents after their owner in the background, level by level, across kinds', async () => {
    const owner = await create('owner')
    const child = await plane.client
      .resource(secretKind)
      .namespace('default')
      .create({ metadata: { name: 'child', ownerReferences: [refTo(owner)] } })
    await create('grandchild', [{ ...child, kind: 'Secret', apiVersion: 'v1' }])
    await create('bystander')
    await plane.settled()
    await maps().delete('owner')
    await expect.poll(names).toEqual(['bystander'])
    expect((await plane.client.resource(secretKind).namespace('default').list()).items).toEqual([])
  })

  it('keeps what still has an owner and drops the reference to the one that is gone', async () => {
    const [one, two] = [await create('one'), await create('two')]
    await create('child', [one, two])
    await plane.settled()
    await maps().delete('one')
    await expect.poll(() => ownerNames('child')).toEqual(['two'])
    await maps().delete('two')
    await expect.poll(names).toEqual([])
  })

  it('deletes what names an owner that never was', async () => {
    const metadata = { name: 'ghost', uid: '11111111-1111-1111-1111-111111111111' }
    await create('child', [{ metadata }])
    await expect.poll(names).toEqual([])
  })

  it('deletes what names an owner that was replaced by another of the same name', async () => {
    const owner = await create('owner')
    await maps().delete('owner')
    await create('owner')
    await create('child', [owner])
    await expect.poll(names).toEqual(['owner'])
  })

  it('foreground: the owner waits for those that block it', async () => {
    const owner = await create('owner')
    await create('held', [owner], ['example.com/keep'])
    await create('free', [owner])
    await plane.settled()
    await maps().delete('owner', { propagationPolicy: 'Foreground' })
    await expect.poll(names).toEqual(['held', 'owner'])
    await plane.settled()
    expect((await maps().get('owner')).metadata.finalizers).toEqual(['foregroundDeletion'])
    await maps().patch('held', { metadata: { finalizers: null } })
    await expect.poll(names).toEqual([])
  })

  it('foreground: does not wait for those that do not block', async () => {
    const owner = await create('owner')
    const metadata = { name: 'child', ownerReferences: [refTo(owner, false)], finalizers: ['example.com/keep'] }
    await maps().create({ metadata })
    await plane.settled()
    await maps().delete('owner', { propagationPolicy: 'Foreground' })
    await expect.poll(names).toEqual(['child'])
  })

  it('foreground: reaches through levels, the innermost goes first', async () => {
    const owner = await create('owner')
    const middle = await create('middle', [owner])
    await create('inner', [middle], ['example.com/keep'])
    await plane.settled()
    await maps().delete('owner', { propagationPolicy: 'Foreground' })
    await plane.settled()
    expect(await names()).toEqual(['inner', 'middle', 'owner'])
    await maps().patch('inner', { metadata: { finalizers: null } })
    await expect.poll(names).toEqual([])
  })

  it('foreground: a dependent with another owner is let go of', async () => {
    const [owner, other] = [await create('owner'), await create('other')]
    await create('child', [owner, other])
    await plane.settled()
    await maps().delete('owner', { propagationPolicy: 'Foreground' })
    await expect.poll(names).toEqual(['child', 'other'])
    expect(await ownerNames('child')).toEqual(['other'])
  })

  it('foreground: a circle of owners does not wait for itself', async () => {
    const a = await create('a')
    const b = await create('b', [a])
    await maps().patch('a', { metadata: { ownerReferences: [refTo(b)] } })
    await plane.settled()
    await maps().delete('a', { propagationPolicy: 'Foreground' })
    await expect.poll(names).toEqual([])
  })

  it('orphan: dependents stay without their owner', async () => {
    const owner = await create('owner')
    await create('child', [owner])
    await plane.settled()
    await maps().delete('owner', { propagationPolicy: 'Orphan' })
    await expect.poll(names).toEqual(['child'])
    expect(await ownerNames('child')).toBeUndefined()
  })

  it('tells of an owner in another namespace, and takes it for absent', async () => {
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'x' } })
    const owner = await maps('x').create({ metadata: { name: 'owner' } })
    await plane.settled()
    await create('child', [owner])
    await expect.poll(names).toEqual([])
    const uid = owner.metadata.uid
    expect(plane.events).toContain(
      `OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: ${uid}] does not exist in namespace "default"`,
    )
  })

  it('never deletes an object without a namespace because of an owner in one', async () => {
    const owner = await create('owner')
    const roles = plane.client.resource(clusterRoleKind)
    await roles.create({ metadata: { name: 'role', ownerReferences: [refTo(owner)] }, rules: [] })
    await plane.settled()
    await maps().delete('owner')
    await plane.settled()
    expect((await roles.get('role')).metadata.name).toBe('role')
  })

  it('never deletes because of a kind that is not known', async () => {
    const owner = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', uid: 'u' } }
    await create('child', [owner])
    await plane.settled()
    expect(await names()).toEqual(['child'])
  })

  it('a deployment may be deleted while its dependents come and go', async () => {
    const deployments = plane.client.resource(deploymentKind).namespace('default')
    const labels = { app: 'a' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const owner = await deployments.create({
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: labels }, template },
    })
    const reference = { ...owner, apiVersion: 'apps/v1', kind: 'Deployment' }
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(`m${i}`, [reference])))
    await deployments.delete('d', { propagationPolicy: 'Foreground' })
    await Promise.all(Array.from({ length: 5 }, (_, i) => create(`late${i}`, [reference])))
    await expect.poll(names).toEqual([])
    await expect.poll(async () => (await deployments.list()).items).toEqual([])
  })
})
