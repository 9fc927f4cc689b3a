import { describe, expect, test } from 'vitest'
import { persistentVolumeKind } from '../../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../../api/kinds/core/persistent-volume-claim/kind.ts'
import { storageClassKind } from '../../../api/kinds/storage/storage-class.ts'
import { startWorkbench, type Workbench } from '../../workbench.contract.ts'

const claims = (bench: Workbench) => bench.client.resource(persistentVolumeClaimKind).namespace('default')
const volumes = (bench: Workbench) => bench.client.resource(persistentVolumeKind)
const using = (claimName: string) => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] })

async function storageClass(bench: Workbench, name: string, provisioner: string): Promise<void> {
  const volumeBindingMode = 'WaitForFirstConsumer'
  await bench.client.resource(storageClassKind).create({ metadata: { name }, provisioner, volumeBindingMode })
}

async function claim(bench: Workbench, name: string, storageClassName: string, more = {}): Promise<void> {
  const resources = { requests: { storage: '1Gi' } }
  await claims(bench).create({
    metadata: { name },
    spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources, ...more },
  })
}

async function localVolume(bench: Workbench, name: string, node: string, size: string): Promise<void> {
  const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] }]
  await volumes(bench).create({
    metadata: { name },
    spec: {
      storageClassName: 'local',
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce'],
      local: { path: '/data' },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    },
  })
}

/** What the volume controllers would do. */
async function bindClaim(bench: Workbench, name: string, volumeName: string): Promise<void> {
  await claims(bench).patch(name, {
    metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName },
  })
}

const quiet = async (turns = 40) => {
  for (let i = 0; i < turns; i++) await new Promise(setImmediate)
}

describe('volume binding', () => {
  test('a claim that waits gets the smallest volume, and the pod its node', async () => {
    await using bench = await startWorkbench()
    for (const name of ['a', 'b', 'c']) await bench.node(name)
    await storageClass(bench, 'local', 'kubernetes.io/no-provisioner')
    await localVolume(bench, 'large', 'b', '10Gi')
    await localVolume(bench, 'fitting', 'b', '2Gi')
    await claim(bench, 'data', 'local')
    await quiet()
    await bench.pod('p', using('data'))
    await quiet()
    expect((await volumes(bench).get('fitting')).spec?.claimRef?.name).toBe('data')
    expect(await bench.nodeOf('p')).toBeUndefined()
    await bindClaim(bench, 'data', 'fitting')
    await bench.settled()
    expect(await bench.nodeOf('p')).toBe('b')
  })

  test('a claim to be provisioned is told the node', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await storageClass(bench, 'fast', 'csi.example.com')
    await claim(bench, 'data', 'fast')
    await quiet()
    await bench.pod('p', using('data'))
    await quiet()
    const { annotations } = (await claims(bench).get('data')).metadata
    expect(annotations?.['volume.kubernetes.io/selected-node']).toBe('a')
    await bindClaim(bench, 'data', 'made')
    await bench.settled()
    expect(await bench.nodeOf('p')).toBe('a')
  })

  test('a volume that nobody makes is no work, and nothing to wait for at the end', async () => {
    const bench = await startWorkbench()
    await bench.node('a')
    await storageClass(bench, 'fast', 'csi.example.com')
    await claim(bench, 'data', 'fast')
    await quiet()
    await bench.pod('p', using('data'))
    await bench.settled()
    expect(await bench.nodeOf('p')).toBeUndefined()
    await bench[Symbol.asyncDispose]()
    expect(bench.events).toEqual([])
  })

  const PREEMPTION =
    'no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.'
  test.each([
    ['a claim that does not exist', 'missing', 'persistentvolumeclaim "missing" not found. not found'],
    [
      'a claim that is bound elsewhere',
      'elsewhere',
      `1 node(s) didn't match PersistentVolume's node affinity. ${PREEMPTION}`,
    ],
    ['an unbound claim', 'immediate', 'pod has unbound immediate PersistentVolumeClaims. not found'],
    ['no volume', 'waiting', `1 node(s) didn't find available persistent volumes to bind. ${PREEMPTION}`],
  ])('%s', async (_name, claimName, reasons) => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await storageClass(bench, 'local', 'kubernetes.io/no-provisioner')
    await localVolume(bench, 'far', 'z', '1Gi')
    await claim(bench, 'elsewhere', 'local')
    await bindClaim(bench, 'elsewhere', 'far')
    await claim(bench, 'immediate', '')
    await claim(bench, 'waiting', 'local', { resources: { requests: { storage: '5Gi' } } })
    await quiet()
    await bench.pod('p', using(claimName))
    await bench.settled()
    expect(bench.events).toEqual([`p FailedScheduling: 0/1 nodes are available: ${reasons}`])
  })
})
