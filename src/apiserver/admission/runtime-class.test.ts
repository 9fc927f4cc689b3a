import { describe, expect, it } from 'vitest'
import type { PodSpec } from '../../api/generated/core-v1.ts'
import type { RuntimeClass } from '../../api/generated/node-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { runtimeClass } from './runtime-class.ts'

const toleration = { key: 'vm', operator: 'Exists' }
const CLASSES: Readonly<Record<string, Omit<RuntimeClass, 'metadata'>>> = {
  plain: { handler: 'plain' },
  vm: {
    handler: 'vm',
    overhead: { podFixed: { memory: '64Mi' } },
    scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [toleration] },
  },
}

const plugin = runtimeClass({ get: (name) => (CLASSES[name] ? { metadata: { name }, ...CLASSES[name] } : undefined) })

async function admitted(spec: Partial<PodSpec>): Promise<Partial<PodSpec> | string> {
  const draft = { metadata: { name: 'p' }, spec: { containers: [], ...spec } }
  const request = { operation: 'CREATE', kind: podKind, subresource: '', namespace: 'n', name: 'p', draft } as const
  const rest = { old: undefined, user: { name: 'u', groups: [] }, dryRun: false, warn: () => {} }
  try {
    await plugin.admit?.({ ...request, ...rest })
  } catch (error) {
    return (error as Error).message
  }
  const { containers: _, ...changed } = draft.spec
  return changed
}

describe('RuntimeClass', () => {
  it.each<[spec: Partial<PodSpec>, expected: Partial<PodSpec> | string]>([
    [{}, {}],
    [{ runtimeClassName: 'plain' }, { runtimeClassName: 'plain' }],
    [{ runtimeClassName: 'gone' }, 'pods "p" is forbidden: pod rejected: RuntimeClass "gone" not found'],
    [
      { runtimeClassName: 'vm', nodeSelector: { disk: 'ssd' } },
      {
        runtimeClassName: 'vm',
        overhead: { memory: '64Mi' },
        nodeSelector: { disk: 'ssd', vm: 'yes' },
        tolerations: [toleration],
      },
    ],
    [
      { runtimeClassName: 'vm', tolerations: [toleration], overhead: { memory: '64Mi' } },
      { runtimeClassName: 'vm', overhead: { memory: '64Mi' }, nodeSelector: { vm: 'yes' }, tolerations: [toleration] },
    ],
    [
      { runtimeClassName: 'vm', nodeSelector: { vm: 'no' } },
      'pods "p" is forbidden: pod rejected: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ],
    [
      { runtimeClassName: 'vm', overhead: { memory: '1Mi' } },
      `pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
    ],
    [
      { overhead: { memory: '1Mi' } },
      'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
  ])('%j', async (spec, expected) => {
    expect(await admitted(spec)).toEqual(expected)
  })
})
