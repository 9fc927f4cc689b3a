import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { serviceAccountKind } from '../../api/kinds/core/service-account.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { serviceAccountController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [serviceAccountController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const accounts = () => plane.client.resource(serviceAccountKind)
const where = async () =>
  (await accounts().list()).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

describe('serviceAccountController', () => {
  it('makes an account in namespaces that are there and that come', async () => {
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'x' } })
    await plane.settled()
    expect((await where()).sort()).toEqual(
      ['default', 'kube-node-lease', 'kube-public', 'kube-system', 'x'].map((name) => `${name}/default`),
    )
  })

  it('makes it again when it was deleted', async () => {
    await plane.settled()
    const { uid } = (await accounts().namespace('default').get('default')).metadata
    await accounts().namespace('default').delete('default')
    await expect.poll(where).toContain('default/default')
    expect((await accounts().namespace('default').get('default')).metadata.uid).not.toBe(uid)
  })

  it('leaves an ending namespace alone', async () => {
    const namespaces = plane.client.resource(namespaceKind)
    await namespaces.create({ metadata: { name: 'x' } })
    await plane.settled()
    await namespaces.delete('x')
    await accounts().namespace('x').delete('default')
    await plane.settled()
    expect(await where()).not.toContain('x/default')
  })
})
