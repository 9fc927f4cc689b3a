import { describe, expect, it } from 'vitest'
import type { Node, Taint } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { admitted } from './admission.fixture.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

const taint: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
const mine: Taint = { key: 'mine', effect: 'NoExecute' }
const nodeOf = (taints: Taint[]): Node => ({ metadata: { name: 'n' }, spec: { taints } })

describe('TaintNodesByCondition', () => {
  it.each<[operation: 'CREATE' | 'UPDATE', own: Taint[], expected: Taint[]]>([
    ['CREATE', [], [taint]],
    ['CREATE', [mine], [mine, taint]],
    ['CREATE', [taint], [taint]],
    ['CREATE', [{ ...taint, effect: 'NoExecute' }], [{ ...taint, effect: 'NoExecute' }, taint]],
    ['UPDATE', [mine], [mine]],
  ])('%s %j', async (operation, own, expected) => {
    expect(await admitted(taintNodesByCondition, nodeKind, nodeOf(own), { operation })).toEqual(nodeOf(expected))
  })
})
