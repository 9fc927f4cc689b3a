import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Node } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { type AdmissionServer, startAdmissionServer } from './admission-server.fixture.ts'
import { podTopologyLabels } from './pod-topology-labels.ts'

const TOPOLOGY = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r' }
const node: Node = { metadata: { name: 'n', labels: { ...TOPOLOGY, 'kubernetes.io/hostname': 'n' } } }
const container = { name: 'c', image: 'i' }

describe('PodTopologyLabels', () => {
  const pod = (nodeName?: string) => ({ metadata: { name: 'p', labels: { a: 'b' } }, spec: { nodeName } })
  const binding = (kind: string, name: string) => ({ metadata: { name: 'p' }, target: { kind, name } })
  it.each<[draft: object, subresource: string, labels: object | undefined]>([
    [pod('n'), '', { a: 'b', ...TOPOLOGY }],
    [pod(), '', { a: 'b' }],
    [pod('gone'), '', { a: 'b' }],
    [pod('n'), 'status', { a: 'b' }],
    [binding('Node', 'n'), 'binding', TOPOLOGY],
    [binding('Other', 'n'), 'binding', undefined],
  ])('%j %j', async (draft, subresource, labels) => {
    const result = await admitted(podTopologyLabels(listerOf([node])), podKind, draft as KubernetesObject, {
      subresource,
    })
    expect((result as KubernetesObject).metadata.labels).toEqual(labels)
  })
})

describe('with a real server', () => {
  let plane: AdmissionServer
  beforeEach(async () => {
    plane = await startAdmissionServer()
  })
  afterEach(() => plane[Symbol.asyncDispose]())

  it('a pod gets them when it is bound', async () => {
    await plane.client.resource(nodeKind).create(node)
    const pods = plane.client.resource(podKind).namespace('default')
    await pods.create({ metadata: { name: 'p', labels: { a: 'b' } }, spec: { containers: [container] } })
    await plane.client.transport.call({
      verb: 'create',
      resource: podKind,
      namespace: 'default',
      name: 'p',
      subresource: 'binding',
      body: { kind: 'Binding', apiVersion: 'v1', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } },
    })
    const { metadata, spec } = await pods.get('p')
    expect([spec?.nodeName, metadata.labels]).toEqual(['n', { a: 'b', ...TOPOLOGY }])
  })
})
