import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from '../../api/generated/storage-v1.ts'
import { systemClock } from '../../base/clock.ts'
import { createClient } from '../../client/client.ts'
import type { Storage } from '../plugins/volume-binding/storage.ts'
import { VolumeWaits } from '../plugins/volume-binding/volume-waits.ts'
import type { RandomWorld } from './random-world.contract.ts'

const ZONE = 'topology.kubernetes.io/zone'
const HOSTNAME = 'kubernetes.io/hostname'
const DRIVER = 'disks.example.com'
const GIB = 'Gi'
const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' }

/** Claims, volumes and drivers of a random world, as plain objects. */
export interface StorageObjects {
  /** By `namespace/name`. */
  readonly claims: Map<string, PersistentVolumeClaim>
  readonly volumes: Map<string, PersistentVolume>
  readonly classes: Map<string, StorageClass>
  readonly drivers: Map<string, CSIDriver>
  readonly driversOn: Map<string, CSINode>
  readonly capacities: CSIStorageCapacity[]
}

/** Claims of two namespaces in every state, with volumes here and there. */
export function randomStorage(world: RandomWorld): StorageObjects {
  const objects: StorageObjects = {
    claims: new Map(),
    volumes: new Map(),
    classes: new Map(),
    drivers: new Map(),
    driversOn: new Map(),
    capacities: [],
  }
  addClasses(world, objects)
  for (let i = 0; i < 5; i++) {
    const volume = randomVolume(world, `free-${i}`, 'static')
    objects.volumes.set(volume.metadata.name!, volume)
  }
  for (const namespace of ['n1', 'n2'])
    for (let i = 0; i < CLAIMS; i++) addClaim(world, objects, namespace, `claim-${i}`)
  return objects
}

const CLAIMS = 6

function addClasses(world: RandomWorld, { classes, drivers, capacities }: StorageObjects): void {
  const waiting = { volumeBindingMode: 'WaitForFirstConsumer' }
  const add = (name: string, parts: Omit<StorageClass, 'metadata'>) =>
    classes.set(name, { metadata: { name }, ...parts })
  add('now', { provisioner: DRIVER })
  add('static', { provisioner: 'kubernetes.io/no-provisioner', ...waiting })
  add('dynamic', { provisioner: DRIVER, ...waiting })
  const allowedTopologies = [{ matchLabelExpressions: [{ key: ZONE, values: ['z1', 'z2'] }] }]
  add('zonal', { provisioner: DRIVER, allowedTopologies, ...waiting })
  drivers.set(DRIVER, { metadata: { name: DRIVER }, spec: { storageCapacity: world.chance(0.5) } })
  for (const storageClassName of ['dynamic', 'zonal'])
    capacities.push({
      metadata: { name: `${storageClassName}-z1` },
      storageClassName,
      capacity: world.pick(['1Gi', '3Gi']),
      nodeTopology: { matchLabels: { [ZONE]: world.pick(['z1', 'z2']) } },
    })
}

function randomVolume(world: RandomWorld, name: string, storageClassName: string): PersistentVolume {
  const key = world.pick([ZONE, HOSTNAME])
  const values = key === ZONE ? ['z1', 'z2', 'z3'] : ['node-0', 'node-1', 'node-2', 'node-3']
  const terms = [{ matchExpressions: [{ key, operator: 'In', values: [world.pick(values), world.pick(values)] }] }]
  const labels: Record<string, string> = world.chance(0.3) ? { [ZONE]: world.pick(['z1', 'z2__z3']) } : {}
  return {
    metadata: { name, labels },
    spec: {
      storageClassName,
      capacity: { storage: `${world.pick([1, 2, 4])}${GIB}` },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: DRIVER, volumeHandle: name },
      ...(world.chance(0.6) && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
    },
  }
}

function addClaim(world: RandomWorld, objects: StorageObjects, namespace: string, name: string): void {
  const storageClassName = world.pick(['static', 'dynamic', 'zonal', 'bound', 'bound', 'bound', 'now'])
  const mode = world.chance(0.2) && storageClassName === 'bound' ? 'ReadWriteOncePod' : 'ReadWriteOnce'
  const claim: PersistentVolumeClaim = {
    metadata: { namespace, name, uid: `${namespace}-${name}` },
    spec: {
      accessModes: [mode],
      storageClassName,
      resources: { requests: { storage: `${world.pick([1, 2, 3])}${GIB}` } },
    },
  }
  objects.claims.set(`${namespace}/${name}`, claim)
  if (storageClassName === 'bound')
    bindClaim(objects, claim, randomVolume(world, `volume-${namespace}-${name}`, storageClassName))
}

/** The claim and the volume belong together from now on. */
export function bindClaim(objects: StorageObjects, claim: PersistentVolumeClaim, volume: PersistentVolume): void {
  const { namespace = '', name = '', uid = '' } = claim.metadata
  objects.claims.set(`${namespace}/${name}`, {
    ...claim,
    metadata: { ...claim.metadata, annotations: BOUND },
    spec: { ...claim.spec, volumeName: volume.metadata.name! },
  })
  const spec = { ...volume.spec, claimRef: { namespace, name, uid } }
  objects.volumes.set(volume.metadata.name!, { ...volume, spec })
}

/** A volume as the driver makes it for a claim of a pod on a node. */
export const provisionedVolume = (world: RandomWorld, { metadata, spec }: PersistentVolumeClaim): PersistentVolume =>
  randomVolume(world, `made-${metadata.namespace}-${metadata.name}`, spec!.storageClassName!)

/** Now and then a pod uses claims, sometimes one that is not there. */
export function withClaims(world: RandomWorld, pod: Pod): Pod {
  if (!world.chance(0.35)) return pod
  const names = new Set(
    Array.from({ length: world.pick([1, 1, 2]) }, () => world.pick([...Array(CLAIMS).keys(), 'missing'].slice(0, 7))),
  )
  const volumes = [...names].map((name) => ({
    name: `v-${name}`,
    persistentVolumeClaim: { claimName: name === 'missing' ? name : `claim-${name}` },
  }))
  return { ...pod, spec: { ...pod.spec!, volumes } }
}

/** How many volumes the driver attaches to a node, if anybody knows. */
export function setDriversOn(world: RandomWorld, { driversOn }: StorageObjects, node: Node): void {
  const name = node.metadata.name!
  const allocatable = world.chance(0.8) ? { count: world.pick([1, 2, 3]) } : {}
  if (world.chance(0.3)) driversOn.delete(name)
  else driversOn.set(name, { metadata: { name }, spec: { drivers: [{ name: DRIVER, nodeID: name, allocatable }] } })
}

/** What the volume plugins see of it. */
export function storageOf(objects: StorageObjects, pods: ReadonlyMap<string, Pod>): Storage {
  return {
    client: createClient({
      call: () => Promise.reject(new Error('nothing is written here')),
      watch: () => {
        throw new Error('nothing is watched here')
      },
      [Symbol.asyncDispose]: async () => {},
    }),
    clock: systemClock,
    waits: new VolumeWaits(),
    claim: (namespace, name) => objects.claims.get(`${namespace}/${name}`),
    volume: (name) => objects.volumes.get(name),
    volumesOfClass: (name) => [...objects.volumes.values()].filter(({ spec }) => spec?.storageClassName === name),
    storageClass: (name) => objects.classes.get(name),
    driver: (name) => objects.drivers.get(name),
    driversOn: (node) => objects.driversOn.get(node),
    capacities: (name) => objects.capacities.filter(({ storageClassName }) => storageClassName === name),
    *usersOf(namespace, claim) {
      for (const pod of pods.values())
        if (
          pod.metadata.namespace === namespace &&
          pod.spec?.volumes?.some((v) => v.persistentVolumeClaim?.claimName === claim)
        )
          yield pod
    },
    onClaimChange: () => () => {},
  }
}
