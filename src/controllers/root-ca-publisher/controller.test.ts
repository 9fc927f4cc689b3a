import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { rootCaPublisherController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [(context) => rootCaPublisherController({ ...context, rootCertificate: 'the certificate' })],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const maps = (namespace: string) => plane.client.resource(configMapKind).namespace(namespace)
const data = async (namespace: string) => (await maps(namespace).get('kube-root-ca.crt')).data

describe('rootCaPublisherController', () => {
  it('publishes into namespaces that are there and that come', async () => {
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'x' } })
    await plane.settled()
    for (const namespace of ['default', 'kube-system', 'x'])
      expect(await data(namespace)).toEqual({ 'ca.crt': 'the certificate' })
  })

  it('puts back what was changed or deleted', async () => {
    await plane.settled()
    await maps('default').patch('kube-root-ca.crt', { data: { 'ca.crt': 'forged', more: 'x' } })
    await plane.settled()
    expect(await data('default')).toEqual({ 'ca.crt': 'the certificate' })
    await maps('default').delete('kube-root-ca.crt')
    await plane.settled()
    expect(await data('default')).toEqual({ 'ca.crt': 'the certificate' })
  })

  it('leaves an ending namespace alone', async () => {
    const namespaces = plane.client.resource(namespaceKind)
    await namespaces.create({ metadata: { name: 'x' } })
    await plane.settled()
    await namespaces.delete('x')
    await maps('x').delete('kube-root-ca.crt')
    await plane.settled()
    expect((await maps('x').list()).items).toEqual([])
  })
})
