import { expect, test } from 'vitest'
import { explanationLines } from './explain-pod.ts'

test('a placed pod: scores, and nodes that will not do', () => {
  const lines = explanationLines(
    {
      rejected: [{ node: 'c', plugin: 'TaintToleration', reasons: ['node(s) had untolerated taint(s)'] }],
      scored: [
        { node: 'b', total: 474, scores: { TaintToleration: 300, NodeResourcesFit: 174 } },
        { node: 'a', total: 400, scores: { TaintToleration: 300, NodeResourcesFit: 100 } },
      ],
    },
    'b',
  )
  const words = lines.map((line) => line.trim().split(/\s{2,}/))
  expect(words).toEqual([
    ['The pod is on b.'],
    [''],
    ['Nodes that will do, the best first:'],
    ['NODE', 'TOTAL', 'TaintToleration', 'NodeResourcesFit'],
    ['b', '474', '300', '174'],
    ['a', '400', '300', '100'],
    [''],
    ['Nodes that will not:'],
    ['NODE', 'PLUGIN', 'REASON'],
    ['c', 'TaintToleration', 'node(s) had untolerated taint(s)'],
  ])
})

test('a pod that no node is asked for', () => {
  const refused = { plugin: 'VolumeBinding', reasons: ['persistentvolumeclaim "data" not found'] }
  expect(explanationLines({ refused, rejected: [], scored: [] })).toEqual([
    'No node is asked: VolumeBinding: persistentvolumeclaim "data" not found',
  ])
})
