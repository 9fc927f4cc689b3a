import { afterEach, beforeEach, expect, it } from 'vitest'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { storageClassKind } from '../../api/kinds/storage/storage-class.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { persistentVolumeBinderController } from '../persistent-volume-binder/controller.ts'
import { persistentVolumeExpanderController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [persistentVolumeBinderController, persistentVolumeExpanderController],
  })
  const metadata = { name: 'now' }
  await plane.client
    .resource(storageClassKind)
    .create({ metadata, provisioner: 'sampan.dev/local-path', allowVolumeExpansion: true })
})
afterEach(() => plane[Symbol.asyncDispose]())

const claims = () => plane.client.resource(persistentVolumeClaimKind).namespace('default')
const requests = (storage: string) => ({ resources: { requests: { storage } } })

it('makes a volume of our own larger', async () => {
  const spec = { storageClassName: 'now', accessModes: ['ReadWriteOnce'], ...requests('1Gi') }
  await claims().create({ metadata: { name: 'c' }, spec })
  await plane.settled()
  await claims().patch('c', { spec: requests('3Gi') })
  await plane.settled()
  const { spec: bound, status } = await claims().get('c')
  expect(status).toMatchObject({ phase: 'Bound', capacity: { storage: '3Gi' } })
  const volume = await plane.client.resource(persistentVolumeKind).get(bound?.volumeName ?? '')
  expect(volume.spec?.capacity?.storage).toBe('3Gi')
})

it('leaves the volumes of others to others', async () => {
  const volumes = plane.client.resource(persistentVolumeKind)
  const csi = { driver: 'csi.example.com', volumeHandle: 'h' }
  await volumes.create({
    metadata: { name: 'v', annotations: { 'pv.kubernetes.io/provisioned-by': 'csi.example.com' } },
    spec: { storageClassName: 'now', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi },
  })
  const spec = { storageClassName: 'now', volumeName: 'v', accessModes: ['ReadWriteOnce'], ...requests('1Gi') }
  await claims().create({ metadata: { name: 'c' }, spec })
  await plane.settled()
  await claims().patch('c', { spec: requests('3Gi') })
  await plane.settled()
  const claim = await claims().get('c')
  expect(claim.status?.capacity?.storage).toBe('1Gi')
  expect(claim.metadata.annotations?.['volume.kubernetes.io/storage-resizer']).toBe('csi.example.com')
  expect(plane.events).toContain('ExternalExpanding: waiting for an external controller to expand this PVC')
})
