/** Files that change while pods look at them, are shared, and outlive pods. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Volume } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, configMap, isReady, pod, secret, sh } from './conformance-node.ts'

const optionalParts = (name: string) => ({ name, optional: true })
/** The same objects, each alone and in one folder: one that changes, one that goes, one that comes. */
const NAMES = ['changing', 'going', 'coming']
const VOLUMES: Volume[] = NAMES.flatMap((name) => [
  { name: `config-${name}`, configMap: optionalParts(name) },
  { name: `secret-${name}`, secret: { secretName: name, optional: true } },
  {
    name: `projected-${name}`,
    projected: {
      sources: [
        { configMap: { ...optionalParts(name), items: [{ key: 'word', path: 'config' }] } },
        { secret: { ...optionalParts(name), items: [{ key: 'word', path: 'secret' }] } },
      ],
    },
  },
])
const FIELDS = [
  { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
  { path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } },
]
const DOWNWARD: Volume[] = [
  { name: 'fields', downwardAPI: { items: FIELDS } },
  { name: 'projected-fields', projected: { sources: [{ downwardAPI: { items: FIELDS } }] } },
]
const mountsOf = (volumes: readonly Volume[]) => volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
const MANY = Array.from({ length: 50 }, (_, i) => `many-${i}`)

asRoot('files that change, are shared, and stay', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    const all = [...VOLUMES, ...DOWNWARD]
    const shared = [{ name: 'v', mountPath: '/shared' }]
    const objects = (name: string, word: string) => [configMap(name, { word }), secret(name, { word })]
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }
    const elsewhere = {
      ...secret('changing', { word: 'elsewhere' }),
      metadata: { name: 'changing', namespace: 'other' },
    }
    const folder = path.join(node.machine.folder, 'kept')
    mkdirSync(path.join(folder, 'local'), { recursive: true })
    await node.apply(
      namespace,
      elsewhere,
      ...objects('changing', 'one'),
      ...objects('going', 'one'),
      ...MANY.map((name) => configMap(name, { word: name })),
      ...claimed('by-path', { hostPath: { path: path.join(folder, 'path'), type: 'DirectoryOrCreate' } }),
      ...claimed('by-node', { local: { path: path.join(folder, 'local') }, nodeAffinity: ON_NODE_1 }),
    )
    await node.apply(
      pod('watcher', sh('sleep 1000', { volumeMounts: mountsOf(all) }), { volumes: all }, { labels: { color: 'red' } }),
      pod(
        'sharing',
        [
          sh('echo hello > /shared/file; sleep 1000', { volumeMounts: shared }),
          sh('sleep 1000', { name: 'other', volumeMounts: shared }),
        ],
        { volumes: [{ name: 'v', emptyDir: {} }] },
      ),
      ...[1, 2, 3, 4, 5].map((i) => {
        const volumes = MANY.map((name) => ({ name, configMap: { name } }))
        return pod(`many-${i}`, sh('cat /many-*/word', { volumeMounts: mountsOf(volumes) }), { volumes })
      }),
      ...['by-path', 'by-node'].map((name) =>
        pod(`writes-${name}`, sh('echo kept > /v/file', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }), {
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }],
        }),
      ),
    )
    await node.until('watcher', isReady)
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  const look = (script: string, name = 'watcher') => node.exec(name, 'sh', '-c', `${script} || true`)

  test('ConfigMaps and Secrets change, go and come', async () => {
    const places = (name: string) =>
      `/config-${name}/word /secret-${name}/word /projected-${name}/config /projected-${name}/secret`
    expect(await look(`cat ${places('changing')} ${places('going')}`)).toBe('one'.repeat(8))
    expect(await look(`ls ${places('coming')} 2>/dev/null`)).toBe('')
    await node.apply(
      ...['changing', 'coming'].flatMap((name) => [configMap(name, { word: 'two' }), secret(name, { word: 'two' })]),
    )
    await node.kubectl('delete', 'configmap/going', 'secret/going')
    await eventually(
      () => look(`cat ${places('changing')} ${places('coming')}; ls ${places('going')} 2>/dev/null`),
      (text) => text === 'two'.repeat(8),
      60,
    )
  })

  test('labels and annotations of the pod change', async () => {
    const places = (file: string) => `cat /fields/${file} /projected-fields/${file}`
    expect(await look(places('labels'))).toBe('color="red"'.repeat(2))
    await node.kubectl('label', '--overwrite', 'pod', 'watcher', 'color=blue')
    await node.kubectl('annotate', 'pod', 'watcher', 'builder=foo')
    await eventually(
      () => look(places('labels')),
      (text) => text === 'color="blue"'.repeat(2),
      60,
    )
    await eventually(
      () => look(places('annotations')),
      (text) => text.split('builder="foo"').length === 3,
      60,
    )
  })

  test('two containers share a folder', async () => {
    await node.until('sharing', isReady)
    const read = () => node.kubectl('exec', 'sharing', '-c', 'other', '--', 'cat', '/shared/file')
    await eventually(read, (text) => text === 'hello\n')
  })

  test('five pods with fifty ConfigMaps each', async () => {
    const names = [1, 2, 3, 4, 5].map((i) => `many-${i}`)
    const pods = await node.ended(names)
    expect(names.map((name) => pods.get(name)?.status?.phase)).toEqual(names.map(() => 'Succeeded'))
    for (const name of names) expect(node.log(name).match(/many-\d+?(?=many|$)/gm)).toHaveLength(50)
  })

  test.each(['by-path', 'by-node'])('what is written to the volume of a claim stays: %s', async (name) => {
    await node.ended([`writes-${name}`])
    await node.kubectl('delete', 'pod', `writes-${name}`)
    const reads = pod(
      `reads-${name}`,
      sh('cat /v/file; echo no > /v/no || echo read-only', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name, readOnly: true } }] },
    )
    await node.apply(reads)
    await node.ended([`reads-${name}`])
    expect(node.log(`reads-${name}`)).toMatch(/^kept$/m)
    expect(node.log(`reads-${name}`)).toMatch(/^read-only$/m)
    await node.kubectl('delete', 'pod', `reads-${name}`)
    const kept = path.join(node.machine.folder, 'kept', name === 'by-path' ? 'path' : 'local', 'file')
    expect(readFileSync(kept, 'utf8')).toBe('kept\n')
  })

  test('a directory that was made for a claim goes with the claim', async () => {
    const folder = path.join(node.machine.folder, 'provisioned')
    const volumeMounts = [{ name: 'v', mountPath: '/v' }]
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'scratch' } }]
    await node.apply(...provisioned('scratch', folder))
    await node.apply(pod('scratching', sh('mkdir /v/deep; echo kept > /v/deep/file', { volumeMounts }), { volumes }))
    await node.ended(['scratching'])
    const [directory, ...others] = readdirSync(folder)
    expect([directory, others]).toEqual([expect.stringMatching(/^pvc-.*_default_scratch$/), []])
    expect(readFileSync(path.join(folder, directory!, 'deep', 'file'), 'utf8')).toBe('kept\n')
    await node.kubectl('delete', 'pod/scratching', 'persistentvolumeclaim/scratch')
    await eventually(
      () => node.kubectl('get', 'persistentvolumes', '-o', 'name'),
      (text) => !text.includes('/pvc-'),
      60,
    )
    expect(readdirSync(folder)).toEqual([])
    const removers = await eventually(
      () => node.pods('kube-system'),
      (pods) => ![...pods.keys()].some((name) => name.startsWith('delete-')),
    )
    expect([...removers.keys()].filter((name) => name.startsWith('delete-'))).toEqual([])
  })
})

/** A claim for a directory under this folder, made when the first pod wants it. */
function provisioned(name: string, folder: string): object[] {
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name },
      provisioner: 'sampan.dev/local-path',
      parameters: { path: folder },
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: name, resources: { requests: { storage: '1Mi' } } },
    },
  ]
}

const ON_NODE_1 = {
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node-1'] }] }],
  },
}

function claimed(name: string, source: object): object[] {
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { ...common, capacity: { storage: '1Mi' }, claimRef: { namespace: 'default', name }, ...source },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { ...common, volumeName: name, resources: { requests: { storage: '1Mi' } } },
    },
  ]
}
