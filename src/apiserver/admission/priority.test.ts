import { describe, expect, it } from 'vitest'
import type { Pod, PodSpec } from '../../api/generated/core-v1.ts'
import type { PriorityClass } from '../../api/generated/scheduling-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { priorityClassKind } from '../../api/kinds/scheduling/priority-class.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { priority } from './priority.ts'

const high: PriorityClass = { metadata: { name: 'high' }, value: 1000, preemptionPolicy: 'Never' }
const usual: PriorityClass = { metadata: { name: 'usual' }, value: 7, globalDefault: true }
const plain = priority(listerOf([high]))
const withDefault = priority(listerOf([high, { ...usual, metadata: { name: 'higher' }, value: 8 }, usual]))
const podOf = (spec: Partial<PodSpec>): Pod => ({ metadata: { name: 'p' }, spec: { containers: [], ...spec } })
const computed = 'priority admission controller computed'

describe('Priority', () => {
  it.each<[spec: Partial<PodSpec>, expected: Partial<PodSpec> | string]>([
    [{}, { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }],
    [{ priorityClassName: 'high' }, { priorityClassName: 'high', priority: 1000, preemptionPolicy: 'Never' }],
    [
      { priority: 1000, priorityClassName: 'high' },
      { priorityClassName: 'high', priority: 1000, preemptionPolicy: 'Never' },
    ],
    [{ priorityClassName: 'gone' }, 'pods "p" is forbidden: no PriorityClass with name gone was found'],
    [
      { priority: 5 },
      `pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; ${computed} 0 from the given PriorityClass name`,
    ],
    [
      { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      `pods "p" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; ${computed} Never from the given PriorityClass name`,
    ],
  ])('new pod %j', async (spec, expected) => {
    const result = await admitted(plain, podKind, podOf(spec))
    expect(result).toEqual(typeof expected === 'string' ? expected : podOf(expected))
  })

  it('takes the lowest default class', async () => {
    const result = await admitted(withDefault, podKind, podOf({}))
    expect(result).toEqual(podOf({ priorityClassName: 'usual', priority: 7 }))
  })

  it.each<[subresource: string, expected: Partial<PodSpec>]>([
    ['', { priority: 3, preemptionPolicy: 'Never' }],
    ['status', {}],
  ])('update through %j', async (subresource, expected) => {
    const old = podOf({ priority: 3, preemptionPolicy: 'Never' })
    const result = await admitted(plain, podKind, podOf({}), { operation: 'UPDATE', old, subresource })
    expect(result).toEqual(podOf(expected))
  })

  const refused = (name: string) =>
    `priorityclasses.scheduling.k8s.io "${name}" is forbidden: PriorityClass usual is already marked as default. Only one default can exist`
  it.each<[name: string, operation: 'CREATE' | 'UPDATE', globalDefault: boolean, refusal: string | undefined]>([
    ['other', 'CREATE', true, refused('other')],
    ['other', 'UPDATE', true, refused('other')],
    ['other', 'CREATE', false, undefined],
    ['usual', 'UPDATE', true, undefined],
  ])('class %s, %s, default %s', async (name, operation, globalDefault, refusal) => {
    const draft = { metadata: { name }, value: 1, globalDefault }
    expect(await admitted(withDefault, priorityClassKind, draft, { operation })).toEqual(refusal ?? draft)
  })
})
