import { afterEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { namespaceController } from './controller.ts'

let plane: ControlPlane
afterEach(() => plane[Symbol.asyncDispose]())

const start = async () => {
  plane = await startControlPlane({ controllers: [namespaceController] })
  await namespaces().create({ metadata: { name: 'x' } })
}
const namespaces = () => plane.client.resource(namespaceKind)
const names = async () => (await namespaces().list()).items.map(({ metadata }) => metadata.name)
const conditions = async () =>
  Object.fromEntries((await namespaces().get('x')).status?.conditions?.map((c) => [c.type, c.message ?? '']) ?? [])
const pod = { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } }

describe('namespaceController', () => {
  it('lets an empty namespace go', async () => {
    await start()
    await namespaces().delete('x')
    await plane.settled()
    expect(await names()).not.toContain('x')
  })

  it('deletes everything in it, and nothing elsewhere', async () => {
    await start()
    const configMaps = plane.client.resource(configMapKind)
    await configMaps.namespace('x').create({ metadata: { name: 'a' } })
    await configMaps.namespace('default').create({ metadata: { name: 'a' } })
    await plane.client
      .resource(secretKind)
      .namespace('x')
      .create({ metadata: { name: 's' } })
    await namespaces().delete('x')
    await expect.poll(names).not.toContain('x')
    expect((await configMaps.list()).items.map(({ metadata }) => metadata.namespace)).toEqual(['default'])
    expect((await plane.client.resource(secretKind).namespace('x').list()).items).toEqual([])
  })

  it('waits for pods before anything else goes', async () => {
    await start()
    const pods = plane.client.resource(podKind).namespace('x')
    const configMaps = plane.client.resource(configMapKind).namespace('x')
    await pods.create(pod)
    await configMaps.create({ metadata: { name: 'a' } })
    await namespaces().delete('x')
    await plane.settled()
    expect((await pods.get('p')).metadata.deletionTimestamp).toBeDefined()
    expect((await configMaps.get('a')).metadata.deletionTimestamp).toBeUndefined()
    expect((await conditions()).NamespaceContentRemaining).toBe(
      'Some resources are remaining: pods. has 1 resource instances',
    )
    await pods.delete('p', { gracePeriodSeconds: 0 })
    await expect.poll(names).not.toContain('x')
  })

  it('tells which finalizers hold it', async () => {
    await start()
    const configMaps = plane.client.resource(configMapKind).namespace('x')
    await configMaps.create({ metadata: { name: 'a', finalizers: ['example.com/keep'] } })
    await namespaces().delete('x')
    await plane.settled()
    expect(await conditions()).toEqual({
      NamespaceDeletionDiscoveryFailure: 'All resources successfully discovered',
      NamespaceDeletionGroupVersionParsingFailure: 'All legacy kube types successfully parsed',
      NamespaceDeletionContentFailure: 'All content successfully deleted, may be waiting on finalization',
      NamespaceContentRemaining: 'Some resources are remaining: configmaps. has 1 resource instances',
      NamespaceFinalizersRemaining:
        'Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances',
    })
    await configMaps.patch('a', { metadata: { finalizers: null } })
    await expect.poll(names).not.toContain('x')
  })

  it('leaves a namespace to whoever else holds it', async () => {
    plane = await startControlPlane({ controllers: [namespaceController] })
    await namespaces().create({ metadata: { name: 'x' }, spec: { finalizers: ['example.com/mine'] } })
    await namespaces().delete('x')
    await plane.settled()
    expect((await namespaces().get('x')).spec?.finalizers).toEqual(['example.com/mine'])
    expect((await conditions()).NamespaceContentRemaining).toBe('All content successfully removed')
  })
})
