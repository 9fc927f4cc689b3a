import { describe, expect, it } from 'vitest'
import type {
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  ResourceRequirements,
} from '../../api/generated/core-v1.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { limitRanger } from './limit-ranger.ts'

const range = (item: LimitRangeItem, namespace = 'n'): LimitRange => ({
  metadata: { name: 'l', namespace },
  spec: { limits: [item] },
})
const podOf = (resources: ResourceRequirements, init?: ResourceRequirements): Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: {
    containers: [{ name: 'c', image: 'i', resources }],
    ...(init && { initContainers: [{ name: 'i', image: 'i', resources: init }] }),
  },
})
const both = (cpu: string): ResourceRequirements => ({ requests: { cpu }, limits: { cpu } })
const plugin = (item: LimitRangeItem, namespace?: string) => limitRanger(listerOf([range(item, namespace)]))
const DEFAULTS = { type: 'Container', default: { cpu: '2', memory: '1Gi' }, defaultRequest: { cpu: '1' } }

describe('LimitRanger', () => {
  it('sets what containers do not name, and says so', async () => {
    const result = await admitted(plugin(DEFAULTS), podKind, podOf({ limits: { cpu: '3' } }, both('1')))
    const expected = podOf(
      { limits: { cpu: '3', memory: '1Gi' }, requests: { cpu: '1' } },
      { ...both('1'), limits: { cpu: '1', memory: '1Gi' } },
    )
    const text =
      'LimitRanger plugin set: cpu request for container c; memory limit for container c; memory limit for init container i'
    expected.metadata.annotations = { 'kubernetes.io/limit-ranger': text }
    expect(result).toEqual({ ...expected, status: { qosClass: 'Burstable' } })
  })

  it.each<[why: string, namespace: string, pod: Pod]>([
    ['limits of another namespace', 'other', podOf({})],
    ['nothing missing', 'n', podOf({ limits: { cpu: '1', memory: '1' }, requests: { cpu: '1' } })],
  ])('leaves the pod as it is: %s', async (_, namespace, pod) => {
    expect(await admitted(plugin(DEFAULTS, namespace), podKind, pod)).toEqual(pod)
  })

  const ratio = { type: 'Container', maxLimitRequestRatio: { cpu: '2' } }
  const min = { type: 'Container', min: { cpu: '100m' } }
  const max = { type: 'Container', max: { cpu: '1' } }
  it.each<[item: LimitRangeItem, pod: Pod, refusal: string | undefined]>([
    [min, podOf(both('100m')), undefined],
    [min, podOf({}), 'minimum cpu usage per Container is 100m.  No request is specified'],
    [min, podOf(both('50m')), 'minimum cpu usage per Container is 100m, but request is 50m'],
    [min, podOf(both('1'), both('50m')), 'minimum cpu usage per Container is 100m, but request is 50m'],
    [max, podOf(both('1')), undefined],
    [max, podOf({}), 'maximum cpu usage per Container is 1.  No limit is specified'],
    [max, podOf(both('1500m')), 'maximum cpu usage per Container is 1, but limit is 1500m'],
    [ratio, podOf({ requests: { cpu: '1' }, limits: { cpu: '2' } }), undefined],
    [
      ratio,
      podOf({ requests: { cpu: '1' }, limits: { cpu: '3' } }),
      'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
    ],
    [
      ratio,
      podOf({ limits: { cpu: '3' } }),
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [{ ...max, type: 'Pod' }, podOf(both('600m'), both('900m')), undefined],
    [{ ...max, type: 'Pod' }, podOf(both('2')), 'maximum cpu usage per Pod is 1, but limit is 2'],
    [
      { type: 'Container', min: { cpu: '1', memory: '1Gi' } },
      podOf({}),
      '[minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No request is specified]',
    ],
  ])('%j %#', async (item, pod, refusal) => {
    const expected = refusal === undefined ? pod : `pods "p" is forbidden: ${refusal}`
    expect(await admitted(plugin(item), podKind, pod)).toEqual(expected)
  })

  it.each<[subresource: string, isRefused: boolean]>([
    ['', false],
    ['status', false],
    ['resize', true],
  ])('an update through %j', async (subresource, isRefused) => {
    const pod = podOf(both('2'))
    const result = await admitted(plugin(max), podKind, pod, { operation: 'UPDATE', old: pod, subresource })
    expect(typeof result === 'string').toBe(isRefused)
  })

  const storage = { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }
  it.each<[size: string, refusal: string | undefined]>([
    ['1Gi', undefined],
    ['1Mi', 'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi'],
    ['3Gi', 'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi'],
  ])('a claim of %s', async (size, refusal) => {
    const metadata = { name: 'c', namespace: 'n' }
    const claim: PersistentVolumeClaim = { metadata, spec: { resources: { requests: { storage: size } } } }
    const expected = refusal === undefined ? claim : `persistentvolumeclaims "c" is forbidden: ${refusal}`
    expect(await admitted(plugin(storage), persistentVolumeClaimKind, claim)).toEqual(expected)
  })
})
