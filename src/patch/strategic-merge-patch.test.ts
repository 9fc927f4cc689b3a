import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../api/meta/object.ts'
import { builtinSchema } from '../api/schema/builtin.ts'
import { strategicMergePatch } from './strategic-merge-patch.ts'

const deployment = builtinSchema('io.k8s.api.apps.v1.Deployment')
const pod = builtinSchema('io.k8s.api.core.v1.Pod')
const service = builtinSchema('io.k8s.api.core.v1.Service')
type Fields = Record<string, Json>

const podPatch = (spec: Fields, patch: Fields) =>
  strategicMergePatch<Record<string, Json>>({ spec }, { spec: patch }, pod).spec

describe('lists of a pod', () => {
  test.each<[string, Fields, Fields, Fields]>([
    [
      'a container by name',
      {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', image: '1' },
        ],
      },
      { containers: [{ name: 'b', image: '2' }] },
      {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', image: '2' },
        ],
      },
    ],
    [
      'a new container comes first',
      { containers: [{ name: 'a' }] },
      { containers: [{ name: 'b' }] },
      { containers: [{ name: 'b' }, { name: 'a' }] },
    ],
    [
      'order is that of the patch',
      { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
      { containers: [{ name: 'c' }, { name: 'a' }] },
      { containers: [{ name: 'b' }, { name: 'c' }, { name: 'a' }] },
    ],
    [
      '$patch delete',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ $patch: 'delete', name: 'a' }] },
      { containers: [{ name: 'b' }] },
    ],
    [
      '$patch delete of what is not there',
      { containers: [{ name: 'a' }] },
      { containers: [{ $patch: 'delete', name: 'x' }] },
      { containers: [{ name: 'a' }] },
    ],
    [
      '$patch replace of the list',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'c' }, { $patch: 'replace' }] },
      { containers: [{ name: 'c' }] },
    ],
    [
      '$patch replace of an item',
      { containers: [{ name: 'a', image: '1' }] },
      { containers: [{ name: 'a', image: '2' }, { $patch: 'replace' }] },
      { containers: [{ name: 'a', image: '2' }] },
    ],
    [
      'null removes a field of an item',
      { containers: [{ name: 'a', image: '1' }] },
      { containers: [{ name: 'a', image: null }] },
      { containers: [{ name: 'a' }] },
    ],
    [
      'env by name',
      { containers: [{ name: 'a', env: [{ name: 'X', value: '1' }] }] },
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'X', value: '2' },
              { name: 'Y', value: '3' },
            ],
          },
        ],
      },
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'X', value: '2' },
              { name: 'Y', value: '3' },
            ],
          },
        ],
      },
    ],
    [
      'ports by number',
      { containers: [{ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP' }] }] },
      { containers: [{ name: 'a', ports: [{ containerPort: 80, name: 'http' }] }] },
      { containers: [{ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }] }] },
    ],
    [
      'command is one piece',
      { containers: [{ name: 'a', command: ['x', 'y'] }] },
      { containers: [{ name: 'a', command: ['z'] }] },
      { containers: [{ name: 'a', command: ['z'] }] },
    ],
    [
      'tolerations are one piece',
      { tolerations: [{ key: 'a' }] },
      { tolerations: [{ key: 'b' }] },
      { tolerations: [{ key: 'b' }] },
    ],
    [
      'volumes retain keys',
      { volumes: [{ name: 'v', emptyDir: {} }] },
      { volumes: [{ name: 'v', configMap: { name: 'c' }, $retainKeys: ['name', 'configMap'] }] },
      { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
    ],
    [
      'image pull secrets',
      { imagePullSecrets: [{ name: 'a' }] },
      { imagePullSecrets: [{ name: 'b' }] },
      { imagePullSecrets: [{ name: 'b' }, { name: 'a' }] },
    ],
    [
      'host aliases by ip',
      { hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }] },
      { hostAliases: [{ ip: '1.1.1.1', hostnames: ['b'] }] },
      { hostAliases: [{ ip: '1.1.1.1', hostnames: ['b'] }] },
    ],
    [
      'spread constraints by key',
      { topologySpreadConstraints: [{ topologyKey: 'z', maxSkew: 1 }] },
      { topologySpreadConstraints: [{ topologyKey: 'z', maxSkew: 2 }] },
      { topologySpreadConstraints: [{ topologyKey: 'z', maxSkew: 2 }] },
    ],
    [
      '$setElementOrder',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
      { containers: [{ name: 'b' }, { name: 'a' }] },
    ],
    [
      '$setElementOrder with a server-only item',
      { containers: [{ name: 'a' }, { name: 'side' }, { name: 'b' }] },
      {
        '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
        containers: [{ name: 'c', image: '1' }],
      },
      { containers: [{ name: 'a' }, { name: 'side' }, { name: 'b' }, { name: 'c', image: '1' }] },
    ],
    [
      'into an empty object',
      {},
      {
        containers: [
          { name: 'a', image: null },
          { $patch: 'delete', name: 'b' },
        ],
        '$setElementOrder/containers': [{ name: 'a' }],
      },
      { containers: [{ name: 'a' }] },
    ],
    ['null removes', { nodeName: 'n', hostNetwork: true }, { nodeName: null }, { hostNetwork: true }],
    [
      '$patch replace of an object',
      { securityContext: { runAsUser: 1, fsGroup: 2 } },
      { securityContext: { $patch: 'replace', runAsUser: 3 } },
      { securityContext: { runAsUser: 3 } },
    ],
    [
      '$patch delete of an object',
      { securityContext: { runAsUser: 1 } },
      { securityContext: { $patch: 'delete' } },
      { securityContext: {} },
    ],
    ['a map merges', { nodeSelector: { a: '1' } }, { nodeSelector: { b: '2', a: null } }, { nodeSelector: { b: '2' } }],
  ])('%s', (_, spec, patch, result) => {
    const sent = structuredClone(patch)
    expect(podPatch(spec, patch)).toEqual(result)
    expect(patch).toEqual(sent)
  })
})

describe('other lists', () => {
  test.each<[string, Json & object, Json & object, Json]>([
    [
      'finalizers are a set',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { finalizers: ['b', 'c'] } },
      { metadata: { finalizers: ['a', 'b', 'c'] } },
    ],
    [
      '$deleteFromPrimitiveList',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b'] } },
    ],
    [
      'delete and order',
      { metadata: { finalizers: ['a', 'b', 'c'] } },
      {
        metadata: {
          '$deleteFromPrimitiveList/finalizers': ['b'],
          '$setElementOrder/finalizers': ['c', 'a', 'd'],
          finalizers: ['d'],
        },
      },
      { metadata: { finalizers: ['c', 'a', 'd'] } },
    ],
    [
      'owners by uid',
      { metadata: { ownerReferences: [{ uid: '1', name: 'a' }] } },
      { metadata: { ownerReferences: [{ uid: '2', name: 'b' }] } },
      {
        metadata: {
          ownerReferences: [
            { uid: '2', name: 'b' },
            { uid: '1', name: 'a' },
          ],
        },
      },
    ],
    [
      'an owner is deleted',
      { metadata: { ownerReferences: [{ uid: '1' }, { uid: '2' }] } },
      { metadata: { ownerReferences: [{ $patch: 'delete', uid: '1' }], uid: 'x' } },
      { metadata: { ownerReferences: [{ uid: '2' }], uid: 'x' } },
    ],
    [
      'conditions by type',
      { status: { conditions: [{ type: 'A', status: 'False' }] } },
      { status: { conditions: [{ type: 'A', status: 'True' }] } },
      { status: { conditions: [{ type: 'A', status: 'True' }] } },
    ],
    [
      'strategy retains keys',
      { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
    ],
  ])('%s', (_, draft, patch, result) => {
    expect(strategicMergePatch(draft, patch, deployment)).toEqual(result)
  })

  test('service ports by port', () => {
    const draft = { spec: { ports: [{ port: 80, targetPort: 1 }, { port: 443 }] } }
    const patch = { spec: { ports: [{ port: 80, targetPort: 2 }] } }
    expect(strategicMergePatch(draft, patch, service)).toEqual({
      spec: { ports: [{ port: 80, targetPort: 2 }, { port: 443 }] },
    })
  })
})

describe('what is refused', () => {
  test.each<[string, Json, string]>([
    ['no object', [], 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['unknown $patch', { spec: { $patch: 'swap' } }, 'unknown patch type [swap] in map: {"$patch":"swap"}'],
    [
      'unknown $patch in an item',
      { spec: { containers: [{ name: 'a', $patch: 'swap' }] } },
      'unknown patch type [swap] in map',
    ],
    [
      'merge in an item',
      { spec: { containers: [{ $patch: 'merge' }] } },
      'merging lists cannot yet be specified in the patch',
    ],
    ['unknown directive', { spec: { $keep: 1 } }, 'unknown directive "$keep" in a strategic merge patch'],
    ['item without key', { spec: { containers: [{ image: 'x' }] } }, 'does not contain declared merge key: name'],
    [
      'delete without key',
      { spec: { containers: [{ $patch: 'delete' }] } },
      'does not contain declared merge key: name',
    ],
    ['retainKeys no list', { spec: { $retainKeys: 'x' } }, 'invalid patch format of retainKeys'],
    ['retainKeys misses one', { spec: { $retainKeys: ['a'], nodeName: 'n' } }, 'invalid patch format of retainKeys'],
    [
      'delete list no list',
      { metadata: { '$deleteFromPrimitiveList/finalizers': 'x' } },
      'invalid patch format of primitive list',
    ],
    ['order no list', { spec: { '$setElementOrder/containers': 'x' } }, 'invalid patch format of setElementOrder list'],
    ['list of lists', { metadata: { finalizers: [['a']] } }, 'lists of lists are not supported'],
    ['mixed list', { spec: { containers: ['a'] } }, 'invalid JSON document'],
  ])('%s', (_, patch, message) => {
    const draft = { metadata: { finalizers: ['a'] }, spec: { containers: [{ name: 'a' }] } }
    expect(() => strategicMergePatch(draft, patch, pod)).toThrow(
      expect.objectContaining({ code: 400, message: expect.stringContaining(message) }),
    )
  })

  test('prototypes are out of reach', () => {
    const patch = JSON.parse('{"metadata":{"labels":{"__proto__":{"polluted":1}}},"__proto__":{"polluted":1}}')
    strategicMergePatch({ metadata: { labels: {} } }, patch, pod)
    expect(({} as Fields).polluted).toBeUndefined()
  })
})

test('applying the same patch twice changes nothing more', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const containers = fc.uniqueArray(fc.record({ name, image: fc.constantFrom('1', '2') }), { selector: (c) => c.name })
  fc.assert(
    fc.property(containers, containers, (current, change) => {
      const once = podPatch({ containers: structuredClone(current) }, { containers: change }) as Fields
      expect(podPatch(structuredClone(once), { containers: change })).toEqual(once)
      const names = (list: Json) => (list as Fields[]).map((c) => c.name)
      expect(new Set(names(once.containers!))).toEqual(new Set([...names(current), ...names(change)]))
    }),
  )
})

test('a full element order decides the order', () => {
  const order = fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e'], { minLength: 5 })
  fc.assert(
    fc.property(order, order, (current, wanted) => {
      const items = (names: string[]) => names.map((name) => ({ name }))
      const result = podPatch({ containers: items(current) }, { '$setElementOrder/containers': items(wanted) })
      expect(result).toEqual({ containers: items(wanted) })
    }),
  )
})
