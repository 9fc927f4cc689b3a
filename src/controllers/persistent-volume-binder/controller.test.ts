import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NodeSystemInfo, PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { storageClassKind } from '../../api/kinds/storage/storage-class.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { persistentVolumeBinderController } from './controller.ts'

let plane: ControlPlane
const clock = new VirtualClock()
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [persistentVolumeBinderController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

type VolumeSpec = Partial<NonNullable<PersistentVolume['spec']>>
type ClaimSpec = Partial<NonNullable<PersistentVolumeClaim['spec']>>
const volumes = () => plane.client.resource(persistentVolumeKind)
const claims = () => plane.client.resource(persistentVolumeClaimKind).namespace('default')
const classes = () => plane.client.resource(storageClassKind)

const addVolume = async (name: string, size: string, spec: VolumeSpec = {}, labels: Record<string, string> = {}) => {
  const capacity = { storage: size }
  const base = { capacity, accessModes: ['ReadWriteOnce'], storageClassName: '', hostPath: { path: '/x' } }
  await volumes().create({ metadata: { name, labels }, spec: { ...base, ...spec } })
  await plane.settled()
}
const addClaim = async (name: string, size: string, spec: ClaimSpec = {}) => {
  const resources = { requests: { storage: size } }
  const base = { accessModes: ['ReadWriteOnce'], storageClassName: '', resources }
  await claims().create({ metadata: { name }, spec: { ...base, ...spec } })
  await plane.settled()
}
const claim = async (name: string) => {
  const { spec, status } = await claims().get(name)
  return `${status?.phase} ${spec?.volumeName ?? '-'}`
}
const volume = async (name: string) => {
  const { spec, status } = await volumes().get(name)
  return `${status?.phase} ${spec?.claimRef?.name ?? '-'}`
}

describe('static binding', () => {
  it('takes the smallest volume that is big enough', async () => {
    for (const [name, size] of [
      ['big', '10Gi'],
      ['small', '1Gi'],
      ['middle', '5Gi'],
    ] as const)
      await addVolume(name, size)
    await addClaim('c', '2Gi')
    expect([await claim('c'), await volume('middle'), await volume('big')]).toEqual([
      'Bound middle',
      'Bound c',
      'Available -',
    ])
    expect((await claims().get('c')).status).toMatchObject({
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
    })
    expect((await claims().get('c')).metadata.annotations).toMatchObject({
      'pv.kubernetes.io/bind-completed': 'yes',
      'pv.kubernetes.io/bound-by-controller': 'yes',
    })
  })

  it('waits for a volume to come', async () => {
    await addClaim('c', '1Gi')
    expect(await claim('c')).toBe('Pending -')
    expect(plane.events).toContain(
      'FailedBinding: no persistent volumes available for this claim and no storage class is set',
    )
    await addVolume('v', '1Gi')
    expect(await claim('c')).toBe('Bound v')
  })

  const rows: [string, VolumeSpec, Record<string, string>, ClaimSpec, boolean][] = [
    ['access modes', { accessModes: ['ReadOnlyMany'] }, {}, {}, false],
    ['more access modes', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }, {}, {}, true],
    ['another class', { storageClassName: 'fast' }, {}, {}, false],
    ['the same class', { storageClassName: 'fast' }, {}, { storageClassName: 'fast' }, true],
    ['volume mode', { volumeMode: 'Block' }, {}, {}, false],
    ['selector', {}, { tier: 'gold' }, { selector: { matchLabels: { tier: 'gold' } } }, true],
    ['selector of others', {}, { tier: 'iron' }, { selector: { matchLabels: { tier: 'gold' } } }, false],
    ['kept for it by name', { claimRef: { namespace: 'default', name: 'c' } }, {}, {}, true],
    ['kept for another', { claimRef: { namespace: 'default', name: 'd' } }, {}, {}, false],
    ['asked for by name', {}, {}, { volumeName: 'v' }, true],
    ['asked for by name, too small', { capacity: { storage: '1Mi' } }, {}, { volumeName: 'v' }, false],
  ]
  it.each(rows)('%s', async (_name, volumeSpec, labels, claimSpec, isBound) => {
    await addVolume('v', '1Gi', volumeSpec, labels)
    await addClaim('c', '1Gi', claimSpec)
    expect((await claim('c')).startsWith('Bound')).toBe(isBound)
    expect((await volume('v')).startsWith('Bound')).toBe(isBound)
  })

  it('gives one volume to one claim', async () => {
    await addVolume('v', '1Gi')
    await Promise.all([addClaim('a', '1Gi'), addClaim('b', '1Gi')])
    const states = [await claim('a'), await claim('b')].sort()
    expect(states).toEqual(['Bound v', 'Pending -'])
  })

  it('notices a claim that lost its volume', async () => {
    await addVolume('v', '1Gi')
    await addClaim('c', '1Gi')
    await volumes().delete('v')
    await plane.settled()
    expect(await claim('c')).toBe('Lost v')
  })
})

describe('when the claim goes', () => {
  const run = async (persistentVolumeReclaimPolicy: string, spec: VolumeSpec = {}) => {
    await addVolume('v', '1Gi', { persistentVolumeReclaimPolicy, ...spec })
    await addClaim('c', '1Gi')
    await claims().delete('c')
    await plane.settled()
  }
  it('Retain keeps the volume for whoever looks after it', async () => {
    await run('Retain')
    expect(await volume('v')).toBe('Released c')
    await addClaim('c', '1Gi')
    expect([await volume('v'), await claim('c')]).toEqual(['Released c', 'Pending -'])
  })
  it('Recycle makes it available again', async () => {
    await run('Recycle')
    expect(await volume('v')).toBe('Available -')
    await addClaim('next', '1Gi')
    expect(await claim('next')).toBe('Bound v')
  })
  it('Delete fails for a volume that nobody provisioned', async () => {
    await run('Delete')
    expect(await volume('v')).toBe('Failed c')
  })
})

describe('dynamic provisioning', () => {
  const addClass = async (name: string, provisioner: string, more: object = {}) => {
    await classes().create({ metadata: { name }, provisioner, ...more })
    await plane.settled()
  }

  it('begins with a default class that waits for the first pod', async () => {
    await plane.settled()
    expect((await classes().get('local-path')).volumeBindingMode).toBe('WaitForFirstConsumer')
    const { storageClassName: _none, ...spec } = {
      storageClassName: '',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    }
    await claims().create({ metadata: { name: 'c' }, spec })
    await plane.settled()
    expect((await claims().get('c')).spec?.storageClassName).toBe('local-path')
    expect(plane.events).toContain('WaitForFirstConsumer: waiting for first consumer to be created before binding')
    await claims().patch('c', { metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } } })
    await plane.settled()
    const { metadata, spec: bound } = await claims().get('c')
    expect(await claim('c')).toBe(`Bound pvc-${metadata.uid}`)
    const made = await volumes().get(bound?.volumeName ?? '')
    expect(made.spec?.hostPath?.path).toBe(`/var/lib/sampan/volumes/pvc-${metadata.uid}_default_c`)
    expect(made.spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values).toEqual(['n1'])
    expect(made.spec?.persistentVolumeReclaimPolicy).toBe('Delete')
  })

  it('deletes what it made when the claim goes', async () => {
    await addClass('now', 'sampan.dev/local-path', { volumeBindingMode: 'Immediate' })
    await addClaim('c', '1Gi', { storageClassName: 'now' })
    expect(await claim('c')).toMatch(/^Bound pvc-/)
    await claims().delete('c')
    await plane.settled()
    expect((await volumes().list()).items).toEqual([])
  })

  describe('a directory on a node that runs containers', () => {
    const removers = () => plane.client.resource(podKind).namespace('kube-system')
    const finish = async (phase: string) => {
      const [pod] = (await removers().list()).items
      await removers().patch(pod!.metadata.name!, { status: { phase } }, { subresource: 'status' })
      // Once for the look that finds it finished, once for the next try after a failure.
      for (let i = 0; i < 2; i++) {
        clock.advance(2000)
        await plane.settled()
      }
      return pod
    }
    beforeEach(async () => {
      await plane[Symbol.asyncDispose]()
      plane = await startControlPlane({ controllers: [persistentVolumeBinderController], clock })
      const nodeInfo = { containerRuntimeVersion: 'builtin://1.0.0' } as NodeSystemInfo
      await plane.client.resource(nodeKind).create({ metadata: { name: 'n1' } })
      await plane.client.resource(nodeKind).patch('n1', { status: { nodeInfo } }, { subresource: 'status' })
      await addClass('now', 'sampan.dev/local-path', { volumeBindingMode: 'Immediate' })
      const metadata = { name: 'c', annotations: { 'volume.kubernetes.io/selected-node': 'n1' } }
      const resources = { requests: { storage: '1Gi' } }
      await claims().create({ metadata, spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'now', resources } })
      await plane.settled()
    })

    it('is removed there before the volume goes', async () => {
      const name = (await claims().get('c')).spec?.volumeName
      await claims().delete('c')
      await plane.settled()
      expect(await volume(name!)).toBe('Released c')
      const pod = await finish('Succeeded')
      expect(pod?.spec).toMatchObject({
        nodeName: 'n1',
        containers: [{ command: ['rm', '-rf', `/volumes/${name}_default_c`] }],
        volumes: [{ hostPath: { path: '/var/lib/sampan/volumes' } }],
      })
      expect((await volumes().list()).items).toEqual([])
      expect((await removers().list()).items).toEqual([])
    })

    it('is tried again if that failed', async () => {
      await claims().delete('c')
      await plane.settled()
      const first = await finish('Failed')
      expect((await volumes().list()).items).toHaveLength(1)
      const second = await finish('Succeeded')
      expect(second?.metadata.uid).not.toBe(first?.metadata.uid)
      expect((await volumes().list()).items).toEqual([])
    })

    it('is nothing but its own', async () => {
      const name = (await claims().get('c')).spec?.volumeName ?? ''
      // The source of a volume cannot be changed, so somebody makes one that looks like ours.
      const made = await volumes().get(name)
      const annotations = { 'pv.kubernetes.io/provisioned-by': 'sampan.dev/local-path' }
      const claimRef = { ...made.spec!.claimRef, uid: 'gone' }
      const spec = { ...made.spec!, claimRef, hostPath: { path: '/etc' } }
      await volumes().create({ metadata: { name: 'forged', annotations }, spec })
      await plane.settled()
      expect((await removers().list()).items).toEqual([])
    })
  })

  it('asks a provisioner outside', async () => {
    await addClass('csi', 'csi.example.com')
    await addClaim('c', '1Gi', { storageClassName: 'csi' })
    expect((await claims().get('c')).metadata.annotations).toMatchObject({
      'volume.kubernetes.io/storage-provisioner': 'csi.example.com',
    })
    expect(
      plane.events.some((event) =>
        event.startsWith(
          "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'csi.example.com'",
        ),
      ),
    ).toBe(true)
    expect(await claim('c')).toBe('Pending -')
  })

  it('tells of a class that does not exist, and goes on when it comes', async () => {
    await addClaim('c', '1Gi', { storageClassName: 'late' })
    expect(plane.events).toContain('ProvisioningFailed: storageclass.storage.k8s.io "late" not found')
    await addClass('late', 'sampan.dev/local-path')
    expect(await claim('c')).toMatch(/^Bound pvc-/)
  })
})
