import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Namespace, Pod, PodSpec } from '../../../api/generated/core-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts'
import { cronJobKind } from '../../../api/kinds/batch/cron-job/kind.ts'
import { namespaceKind } from '../../../api/kinds/core/namespace.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { admitted, listerOf } from '../admission.fixture.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { type PodSecurityOptions, podSecurity } from './plugin.ts'
import { LABEL_PREFIX } from './policy.ts'

const labelled = (labels: Record<string, string>) =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [LABEL_PREFIX + key, value]))
const namespaceOf = (labels: Record<string, string>): Namespace => ({
  metadata: { name: 'n', labels: labelled(labels) },
})
const bad: PodSpec = { containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }] }
const good: PodSpec = { containers: [{ name: 'c', image: 'i' }] }
const podOf = (spec: PodSpec, name = 'p', owner?: string): Pod => ({
  metadata: {
    name,
    namespace: 'n',
    ...(owner && { ownerReferences: [{ apiVersion: 'v1', kind: 'R', name: 'r', uid: owner, controller: true }] }),
  },
  spec,
})
const PROBLEM = 'PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)'

interface Asked {
  labels?: Record<string, string>
  options?: PodSecurityOptions
  pods?: Pod[]
  change?: Partial<AdmissionRequest>
}
async function told(kind: Kind, draft: KubernetesObject, { labels = {}, options, pods = [], change }: Asked) {
  const lines: string[] = []
  const plugin = podSecurity({ namespaces: listerOf([namespaceOf(labels)]), pods: listerOf(pods) }, options)
  const warn = (message: string) => lines.push(`warning: ${message}`)
  const annotate = (key: string, value: string) => lines.push(`${key}: ${value}`)
  const result = await admitted(plugin, kind, draft, { warn, annotate, ...change })
  return typeof result === 'string' ? [...lines, `refused: ${result}`] : lines
}

describe('pods', () => {
  const update = (old: Pod): Partial<AdmissionRequest> => ({ operation: 'UPDATE', old })
  const enforced = `${LABEL_PREFIX}enforce-policy: baseline:latest`
  const refused = [enforced, `refused: pods "p" is forbidden: violates ${PROBLEM}`]
  it.each<[why: string, pod: Pod, asked: Asked, expected: string[]]>([
    ['no labels', podOf(bad), {}, []],
    ['enforced', podOf(bad), { labels: { enforce: 'baseline' } }, refused],
    ['kept', podOf(good), { labels: { enforce: 'baseline' } }, [enforced]],
    [
      'only told',
      podOf(bad),
      { labels: { warn: 'baseline', audit: 'baseline' } },
      [
        `${LABEL_PREFIX}enforce-policy: privileged:latest`,
        `${LABEL_PREFIX}audit-violations: would violate ${PROBLEM}`,
        `warning: would violate ${PROBLEM}`,
      ],
    ],
    ['by default', podOf(bad), { options: { defaults: { enforce: 'baseline' } } }, refused],
    [
      'an exempt user',
      podOf(bad),
      { labels: { enforce: 'baseline' }, options: { exemptions: { usernames: ['u'] } } },
      [],
    ],
    [
      'an exempt namespace',
      podOf(bad),
      { labels: { enforce: 'baseline' }, options: { exemptions: { namespaces: ['n'] } } },
      [],
    ],
    [
      'an exempt runtime class',
      podOf({ ...bad, runtimeClassName: 'vm' }),
      { labels: { enforce: 'baseline' }, options: { exemptions: { runtimeClasses: ['vm'] } } },
      [],
    ],
    ['an update of labels', podOf(bad), { labels: { enforce: 'baseline' }, change: update(podOf(bad)) }, []],
    [
      'an update of an image',
      podOf({ containers: [{ ...bad.containers[0]!, image: 'j' }] }),
      { labels: { enforce: 'baseline' }, change: update(podOf(bad)) },
      refused,
    ],
    [
      'one more to debug with',
      podOf({ ...good, ephemeralContainers: [{ name: 'c', image: 'd', securityContext: { privileged: true } }] }),
      { labels: { enforce: 'baseline' }, change: { ...update(podOf(good)), subresource: 'ephemeralcontainers' } },
      refused,
    ],
    [
      'a status',
      podOf({ containers: [{ ...bad.containers[0]!, image: 'j' }] }),
      { labels: { enforce: 'baseline' }, change: { ...update(podOf(bad)), subresource: 'status' } },
      [],
    ],
  ])('%s', async (_, pod, asked, expected) => expect(await told(podKind, pod, asked)).toEqual(expected))
})

describe('templates', () => {
  const template = { spec: bad }
  it.each<[kind: Kind, object: object]>([
    [deploymentKind, { spec: { template } }],
    [cronJobKind, { spec: { jobTemplate: { spec: { template } } } }],
  ])('are not refused but told of %#', async (kind, object) => {
    const draft = { metadata: { name: 'd', namespace: 'n' }, ...object } as KubernetesObject
    expect(await told(kind, draft, { labels: { enforce: 'baseline' } })).toEqual([`warning: would violate ${PROBLEM}`])
  })
})

describe('namespaces', () => {
  const update = (labels: Record<string, string>): Partial<AdmissionRequest> => ({
    operation: 'UPDATE',
    old: namespaceOf(labels),
  })
  const invalid = `refused: Namespace "n" is invalid: metadata.labels[${LABEL_PREFIX}enforce]: Invalid value: "x": must be one of privileged, baseline, restricted`
  const pods = [
    podOf(bad, 'b', '1'),
    podOf(bad, 'a', '1'),
    podOf(bad, 'c'),
    podOf({ ...good, hostPID: true }, 'd'),
    podOf(good, 'e'),
  ]
  const warned = [
    'warning: existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
    'warning: a (and 2 other pods): privileged',
    'warning: d: host namespaces',
  ]
  it.each<[why: string, labels: Record<string, string>, asked: Asked, expected: string[]]>([
    ['new', { enforce: 'restricted' }, {}, []],
    ['new and wrong', { enforce: 'x' }, {}, [invalid]],
    ['wrong from now on', { enforce: 'x' }, { change: update({}) }, [invalid]],
    ['wrong all the time', { enforce: 'x' }, { change: update({ enforce: 'x' }) }, []],
    ['stricter', { enforce: 'baseline' }, { pods, change: update({}) }, warned],
    ['looser', { enforce: 'baseline' }, { pods, change: update({ enforce: 'restricted' }) }, []],
    ['as before', { enforce: 'baseline' }, { pods, change: update({ enforce: 'baseline' }) }, []],
    [
      'of no use',
      { enforce: 'baseline', audit: 'restricted' },
      { pods, options: { exemptions: { namespaces: ['n'] } }, change: update({}) },
      [
        'warning: namespace "n" is exempt from Pod Security, and the policy (enforce=baseline:latest, audit=restricted:latest) will be ignored',
      ],
    ],
  ])('%s', async (_, labels, asked, expected) => {
    expect(await told(namespaceKind, namespaceOf(labels), asked)).toEqual(expected)
  })
})

describe('with a real server', () => {
  let plane: AdmissionServer
  beforeEach(async () => {
    plane = await startAdmissionServer()
  })
  afterEach(() => plane[Symbol.asyncDispose]())

  it('refuses a pod in a namespace that is labelled', async () => {
    await plane.client.resource(namespaceKind).create(namespaceOf({ enforce: 'baseline' }))
    const pods = plane.client.resource(podKind).namespace('n')
    await pods.create({ metadata: { name: 'good' }, spec: good })
    await expect(pods.create({ metadata: { name: 'bad' }, spec: bad })).rejects.toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: `pods "bad" is forbidden: violates ${PROBLEM}`,
      details: { name: 'bad', kind: 'pods' },
    })
  })
})
