import { describe, expect, it } from 'vitest'
import type { Pod, Toleration } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { admitted } from './admission.fixture.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'

const added = (key: string): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })
const notReady = added('node.kubernetes.io/not-ready')
const unreachable = added('node.kubernetes.io/unreachable')
const podOf = (tolerations: Toleration[]): Pod => ({ metadata: { name: 'p' }, spec: { containers: [], tolerations } })

describe('DefaultTolerationSeconds', () => {
  it.each<[own: Toleration[], more: Toleration[]]>([
    [[], [notReady, unreachable]],
    [[{ key: 'x', operator: 'Exists' }], [notReady, unreachable]],
    [[{ operator: 'Exists' }], []],
    [[{ operator: 'Exists', effect: 'NoSchedule' }], [notReady, unreachable]],
    [[{ ...notReady, tolerationSeconds: 5 }], [unreachable]],
    [[{ key: notReady.key!, operator: 'Exists', effect: 'NoSchedule' }, unreachable], [notReady]],
    [[{ key: unreachable.key!, operator: 'Exists' }], [notReady]],
  ])('%j', async (own, more) => {
    for (const operation of ['CREATE', 'UPDATE'] as const) {
      const result = await admitted(defaultTolerationSeconds, podKind, podOf(own), { operation })
      expect(result).toEqual(podOf([...own, ...more]))
    }
  })

  it('leaves subresources alone', async () => {
    const change = { operation: 'UPDATE', subresource: 'status' } as const
    expect(await admitted(defaultTolerationSeconds, podKind, podOf([]), change)).toEqual(podOf([]))
  })
})
