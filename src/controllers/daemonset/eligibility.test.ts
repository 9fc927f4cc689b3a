import { expect, test } from 'vitest'
import type { DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Node, NodeSelectorTerm, PodSpec, Taint, Toleration } from '../../api/generated/core-v1.ts'
import { eligibility } from './eligibility.ts'

const node = (labels: Record<string, string> = {}, taints: Taint[] = []): Node => ({
  metadata: { name: 'one', labels },
  spec: { taints },
})

function judge(spec: Partial<PodSpec>, on: Node): string {
  const daemonSet = {
    metadata: {},
    spec: { selector: {}, template: { spec: { containers: [], ...spec } } },
  } as DaemonSet
  const { shouldRun, mayStay } = eligibility(daemonSet)(on)
  return shouldRun ? 'run' : mayStay ? 'stay' : 'leave'
}

test.each<[Partial<PodSpec>, Record<string, string>, string]>([
  [{}, {}, 'run'],
  [{ nodeName: 'one' }, {}, 'run'],
  [{ nodeName: 'two' }, {}, 'leave'],
  [{ nodeSelector: { disk: 'ssd' } }, { disk: 'ssd', more: 'x' }, 'run'],
  [{ nodeSelector: { disk: 'ssd' } }, { disk: 'hdd' }, 'leave'],
])('%j on a node with %j: %s', (spec, labels, verdict) => {
  expect(judge(spec, node(labels))).toBe(verdict)
})

const term = (operator: string, ...values: string[]) => ({ matchExpressions: [{ key: 'size', operator, values }] })
test.each<[NodeSelectorTerm[], Record<string, string>, string]>([
  [[term('In', '5', '6')], { size: '5' }, 'run'],
  [[term('In', '5')], {}, 'leave'],
  [[term('NotIn', '5')], {}, 'run'],
  [[term('NotIn', '5')], { size: '5' }, 'leave'],
  [[term('Exists')], { size: '' }, 'run'],
  [[term('DoesNotExist')], { size: '' }, 'leave'],
  [[term('Gt', '4')], { size: '5' }, 'run'],
  [[term('Gt', '5')], { size: '5' }, 'leave'],
  [[term('Lt', '6')], { size: '5' }, 'run'],
  [[term('Lt', '6')], { size: 'five' }, 'leave'],
  [[{}], {}, 'leave'],
  [[term('Exists'), term('DoesNotExist')], {}, 'run'],
  [[{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['one'] }] }], {}, 'run'],
  [[{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['two'] }] }], {}, 'leave'],
])('affinity %j on a node with %j: %s', (nodeSelectorTerms, labels, verdict) => {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
  expect(judge({ affinity: { nodeAffinity } }, node(labels))).toBe(verdict)
})

test.each<[Toleration[], Taint[], string]>([
  [[], [{ key: 'a', effect: 'NoSchedule' }], 'stay'],
  [[], [{ key: 'a', effect: 'NoExecute' }], 'leave'],
  [[], [{ key: 'a', effect: 'PreferNoSchedule' }], 'run'],
  [[{ operator: 'Exists' }], [{ key: 'a', effect: 'NoExecute' }], 'run'],
  [[{ key: 'a', value: 'x' }], [{ key: 'a', value: 'x', effect: 'NoSchedule' }], 'run'],
  [[{ key: 'a', value: 'y' }], [{ key: 'a', value: 'x', effect: 'NoSchedule' }], 'stay'],
  [[], [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }], 'run'],
  [
    [],
    [
      { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
      { key: 'a', effect: 'NoSchedule' },
    ],
    'stay',
  ],
])('tolerations %j on a node tainted %j: %s', (tolerations, taints, verdict) => {
  expect(judge({ tolerations }, node({}, taints))).toBe(verdict)
})

test('the network may be missing only for pods that use the one of the node', () => {
  const taints = [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }]
  expect([judge({}, node({}, taints)), judge({ hostNetwork: true }, node({}, taints))]).toEqual(['stay', 'run'])
})
