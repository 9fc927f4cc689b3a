import { describe, expect, test } from 'vitest'
import type { PersistentVolume } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { priorityClassKind } from '../../api/kinds/scheduling/priority-class.ts'
import { csiNodeKind } from '../../api/kinds/storage/csi-node.ts'
import { startWorkbench, type Workbench } from '../workbench.contract.ts'

const ZONE = 'topology.kubernetes.io/zone'
const using = (...claims: string[]) => ({
  terminationGracePeriodSeconds: 0,
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
})

/** A volume and the claim bound to it, of the same name. */
async function volume(bench: Workbench, name: string, parts: Partial<PersistentVolume> = {}, mode = 'ReadWriteOnce') {
  await bench.client.resource(persistentVolumeKind).create({
    metadata: { name, ...parts.metadata },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: [mode],
      csi: { driver: 'disks.example.com', volumeHandle: name },
      claimRef: { namespace: 'default', name },
    },
  })
  await bench.client
    .resource(persistentVolumeClaimKind)
    .namespace('default')
    .create({
      metadata: { name, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: {
        accessModes: [mode],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: '',
        volumeName: name,
      },
    })
}

const told = (bench: Workbench, pod: string) => bench.events.filter((text) => text.startsWith(`${pod} `)).at(-1)

describe('rules of volumes', () => {
  test.each([
    ['z1', 'a'],
    ['z2', 'b'],
    ['z2__z3', 'b'],
    ['z9', undefined],
  ])('a volume in %s can be used on node %s', async (zone, node) => {
    await using bench = await startWorkbench()
    await bench.node('a', { labels: { [ZONE]: 'z1' } })
    await bench.node('b', { labels: { [ZONE]: 'z2' } })
    await volume(bench, 'disk', { metadata: { labels: { [ZONE]: zone } } })
    await bench.pod('p', using('disk'))
    await bench.settled()
    expect(await bench.nodeOf('p')).toBe(node)
    if (!node) expect(told(bench, 'p')).toContain('0/2 nodes are available: 2 node(s) had no available volume zone.')
  })

  test('a driver attaches so many volumes to a node, each once', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.client.resource(csiNodeKind).create({
      metadata: { name: 'a' },
      spec: { drivers: [{ name: 'disks.example.com', nodeID: 'a', allocatable: { count: 2 } }] },
    })
    for (const name of ['one', 'two', 'three']) await volume(bench, name)
    await bench.pod('p1', using('one', 'two'))
    await bench.settled()
    await bench.pod('p2', using('two'))
    await bench.pod('p3', using('three'))
    await bench.settled()
    expect([await bench.nodeOf('p1'), await bench.nodeOf('p2'), await bench.nodeOf('p3')]).toEqual([
      'a',
      'a',
      undefined,
    ])
    expect(told(bench, 'p3')).toContain('0/1 nodes are available: 1 node(s) exceed max volume count.')
    await bench.client.resource(podKind).namespace('default').delete('p1', { gracePeriodSeconds: 0 })
    await bench.settled()
    expect(await bench.nodeOf('p3')).toBe('a')
  })

  const rbd = (monitor: string, image = 'a') => ({ rbd: { monitors: [monitor, 'm9'], pool: 'p', image } })
  test.each<[first: object, second: object, fits: boolean]>([
    [{ gcePersistentDisk: { pdName: 'a' } }, { gcePersistentDisk: { pdName: 'a', readOnly: true } }, false],
    [
      { gcePersistentDisk: { pdName: 'a', readOnly: true } },
      { gcePersistentDisk: { pdName: 'a', readOnly: true } },
      true,
    ],
    [{ gcePersistentDisk: { pdName: 'a' } }, { gcePersistentDisk: { pdName: 'b' } }, true],
    [{ awsElasticBlockStore: { volumeID: 'a' } }, { awsElasticBlockStore: { volumeID: 'a', readOnly: true } }, false],
    [
      { iscsi: { targetPortal: 't:1', iqn: 'iqn.2026-01.com.example:q', lun: 0 } },
      { iscsi: { targetPortal: 't:2', iqn: 'iqn.2026-01.com.example:q', lun: 0 } },
      false,
    ],
    [rbd('m1'), rbd('m2'), false],
    [rbd('m1'), rbd('m1', 'b'), true],
  ])('beside a pod with %j one with %j fits: %s', async (first, second, fits) => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.pod('p1', { volumes: [{ name: 'v', ...first }] })
    await bench.settled()
    await bench.pod('p2', { volumes: [{ name: 'v', ...second }] })
    await bench.settled()
    expect(await bench.nodeOf('p1')).toBe('a')
    expect(await bench.nodeOf('p2')).toBe(fits ? 'a' : undefined)
    if (!fits) expect(told(bench, 'p2')).toContain('0/1 nodes are available: 1 node(s) had no available disk.')
  })

  test('a claim for one pod alone is not given to a second, unless that one matters more', async () => {
    await using bench = await startWorkbench()
    for (const name of ['a', 'b']) await bench.node(name)
    await bench.client.resource(priorityClassKind).create({ metadata: { name: 'high' }, value: 10 })
    await volume(bench, 'mine', {}, 'ReadWriteOncePod')
    await bench.pod('first', using('mine'))
    await bench.settled()
    const node = await bench.nodeOf('first')
    expect(node).toBeDefined()
    await bench.pod('second', using('mine'))
    await bench.settled()
    expect(told(bench, 'second')).toBe(
      'second FailedScheduling: 0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same name ' +
        'and ReadWriteOncePod access mode. no new claims to deallocate, preemption: 0/2 nodes are available: ' +
        '2 No preemption victims found for incoming pod.',
    )
    await bench.pod('important', { ...using('mine'), priorityClassName: 'high', priority: 10 })
    await bench.settled()
    expect(await bench.nodeOf('important')).toBe(node)
    await expect(bench.get('first')).rejects.toMatchObject({ code: 404 })
    expect(await bench.nodeOf('second')).toBeUndefined()
  })
})
