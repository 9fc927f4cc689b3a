import { expect, test } from 'vitest'
import { type DiscoveredResource, findResources } from './discovery.ts'
import { parseTargets, qualifiedName } from './targets.ts'

const resource = (
  group: string,
  version: string,
  kind: string,
  more: Partial<DiscoveredResource> = {},
): DiscoveredResource => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  namespaced: true,
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  ...more,
})
const KNOWN = [
  resource('', 'v1', 'Pod', { shortNames: ['po'], categories: ['all'] }),
  resource('', 'v1', 'Event', { shortNames: ['ev'] }),
  resource('apps', 'v1', 'Deployment', { shortNames: ['deploy'], categories: ['all'] }),
  resource('autoscaling', 'v2', 'HorizontalPodAutoscaler', { shortNames: ['hpa'], categories: ['all'] }),
  resource('autoscaling', 'v1', 'HorizontalPodAutoscaler', { shortNames: ['hpa'], categories: ['all'] }),
  resource('events.k8s.io', 'v1', 'Event', { shortNames: ['ev'] }),
]

test.each([
  ['pods', ['/v1 pods']],
  ['pod', ['/v1 pods']],
  ['po', ['/v1 pods']],
  ['Pod', ['/v1 pods']],
  ['deploy', ['apps/v1 deployments']],
  ['deployments.apps', ['apps/v1 deployments']],
  ['deployments.v1.apps', ['apps/v1 deployments']],
  ['events', ['/v1 events']],
  ['events.events.k8s.io', ['events.k8s.io/v1 events']],
  ['hpa', ['autoscaling/v2 horizontalpodautoscalers']],
  ['all', ['/v1 pods', 'apps/v1 deployments', 'autoscaling/v2 horizontalpodautoscalers']],
])('%s', (word, found) => {
  expect(findResources(KNOWN, word).map((one) => `${one.group}/${one.version} ${one.plural}`)).toEqual(found)
})

test('a word nobody knows suggests a near one', () => {
  expect(() => findResources(KNOWN, 'podz')).toThrow(expect.objectContaining({ hints: ['Did you mean pods?'] }))
  expect(() => findResources(KNOWN, 'zebra')).toThrow(expect.objectContaining({ hints: [] }))
})

test.each([
  [['pods'], ['pod/']],
  [['pods', 'a', 'b'], ['pod/a,b']],
  [
    ['po,deploy', 'a'],
    ['pod/a', 'deployment.apps/a'],
  ],
  [
    ['po/a', 'deploy/b'],
    ['pod/a', 'deployment.apps/b'],
  ],
])('%o', (words, targets) => {
  expect(parseTargets(KNOWN, words).map((target) => qualifiedName(target.resource, target.names.join(',')))).toEqual(
    targets,
  )
})

test.each([[[]], [['pod/a', 'b']], [['pod/']], [['pod/a/b']]])('%o is a mistake', (words) => {
  expect(() => parseTargets(KNOWN, words)).toThrow()
})
