import { afterEach, beforeEach, expect, it } from 'vitest'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { CLUSTER_DNS_LABEL, clusterDnsController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [clusterDnsController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

async function addNode(name: string, address: string, ready: boolean) {
  const nodes = plane.client.resource(nodeKind)
  const node = await nodes.create({ metadata: { name, labels: { [CLUSTER_DNS_LABEL]: 'true' } } })
  await nodes.updateStatus({
    ...node,
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  })
}

const slice = () => plane.client.resource(endpointSliceKind).namespace('kube-system').get('kube-dns')

it('makes nothing while no node answers DNS', async () => {
  await plane.client.resource(nodeKind).create({ metadata: { name: 'simulated' } })
  await plane.settled()
  await expect(slice()).rejects.toMatchObject({ code: 404 })
})

it('has an endpoint per node that answers, preferred by that node', async () => {
  await addNode('a', '172.30.0.2', true)
  await addNode('b', '172.30.0.3', false)
  await plane.settled()
  const service = await plane.client.resource(serviceKind).namespace('kube-system').get('kube-dns')
  expect(service.spec?.clusterIP).toBe('10.96.0.10')
  const { endpoints = [] } = await slice()
  expect(
    endpoints.map(({ nodeName, addresses, conditions, hints }) => [
      nodeName,
      addresses[0],
      conditions?.ready,
      hints?.forNodes,
    ]),
  ).toEqual([
    ['a', '172.30.0.2', true, [{ name: 'a' }]],
    ['b', '172.30.0.3', false, [{ name: 'b' }]],
  ])
})

it('puts back what was deleted and follows nodes that go', async () => {
  await addNode('a', '172.30.0.2', true)
  await addNode('b', '172.30.0.3', true)
  await plane.settled()
  await plane.client.resource(serviceKind).namespace('kube-system').delete('kube-dns')
  await plane.client.resource(nodeKind).delete('a')
  await plane.settled()
  expect((await slice()).endpoints?.map(({ nodeName }) => nodeName)).toEqual(['b'])
  await expect(plane.client.resource(serviceKind).namespace('kube-system').get('kube-dns')).resolves.toBeDefined()
})
