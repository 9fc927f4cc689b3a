import { describe, expect } from 'vitest'
import type { Endpoints, Service } from '../../src/api/generated/core-v1.ts'
import { tokenReviewKind } from '../../src/api/kinds/authentication/reviews.ts'
import { localSubjectAccessReviewKind, subjectAccessReviewKind } from '../../src/api/kinds/authorization/reviews.ts'
import { certificateSigningRequestKind } from '../../src/api/kinds/certificates/certificate-signing-request.ts'
import { configMapKind } from '../../src/api/kinds/core/config-map.ts'
import { endpointsKind } from '../../src/api/kinds/core/endpoints.ts'
import { limitRangeKind } from '../../src/api/kinds/core/limit-range.ts'
import { namespaceKind } from '../../src/api/kinds/core/namespace.ts'
import { persistentVolumeKind } from '../../src/api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../src/api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { secretKind } from '../../src/api/kinds/core/secret.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { serviceAccountKind } from '../../src/api/kinds/core/service-account.ts'
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpoint-slice.ts'
import { serviceCIDRKind } from '../../src/api/kinds/networking/service-cidr.ts'
import { roleBindingKind } from '../../src/api/kinds/rbac/role-binding.ts'
import { csiDriverKind } from '../../src/api/kinds/storage/csi-driver.ts'
import { storageClassKind } from '../../src/api/kinds/storage/storage-class.ts'
import { volumeAttachmentKind } from '../../src/api/kinds/storage/volume-attachment.ts'
import { volumeAttributesClassKind } from '../../src/api/kinds/storage/volume-attributes-class.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { conformanceTest, names, pod } from '../tools/conformance.ts'
import { signingRequest } from './api-behaviour/kinds.ts'

/** What the conformance suite asks of services, volumes and configuration, in our own words; see docs/conformance.md. */

const service = (name: string, spec: Service['spec'] = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ name: 'http', port: 80 }], ...spec },
})
const SIGNING_REQUEST = {
  request: signingRequest,
  signerName: 'example.com/tester',
  usages: ['client auth'],
}
const slicesOf = async (bench: ConformanceBench, name: string) =>
  (await bench.of(endpointSliceKind).list({ labelSelector: `kubernetes.io/service-name=${name}` })).items
const addressesOf = ({ subsets }: Endpoints) =>
  (subsets ?? [])
    .flatMap(({ addresses }) => addresses ?? [])
    .map(({ ip }) => ip)
    .sort()

describe('services', () => {
  conformanceTest('that select no pod have empty Endpoints and slices, and take them along', async (bench) => {
    await bench.apply(service('lonely', { selector: { app: 'nobody' } }))
    await bench.settled()
    expect((await bench.of(endpointsKind).get('lonely')).subsets ?? []).toEqual([])
    expect((await slicesOf(bench, 'lonely')).flatMap(({ endpoints }) => endpoints)).toEqual([])
    await bench.of(serviceKind).delete('lonely')
    await bench.settled()
    expect(await bench.codeOf(bench.of(endpointsKind).get('lonely'))).toBe(404)
    expect(await slicesOf(bench, 'lonely')).toEqual([])
  })

  conformanceTest('have the addresses of their pods in Endpoints and slices', async (bench) => {
    const ported = (name: string, containerPort: number) =>
      pod(
        name,
        { containers: [{ name: 'app', image: 'app:1', ports: [{ name: 'web', containerPort }] }] },
        {
          labels: { app: 'web' },
        },
      )
    await bench.apply([
      ported('one', 3000),
      ported('two', 3001),
      service('web', { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'web' }] }),
    ])
    await bench.settled()
    const expected = (await bench.pods()).map(({ status }) => status?.podIP).sort()
    expect(addressesOf(await bench.of(endpointsKind).get('web'))).toEqual(expected)
    const slices = await slicesOf(bench, 'web')
    expect(
      slices
        .flatMap(({ endpoints }) => endpoints ?? [])
        .flatMap(({ addresses }) => addresses)
        .sort(),
    ).toEqual(expected)
    expect(
      slices
        .flatMap(({ ports }) => ports ?? [])
        .map(({ port }) => port)
        .sort(),
    ).toEqual([3000, 3001])
    for (const slice of slices) {
      expect(slice.metadata.labels?.['endpointslice.kubernetes.io/managed-by']).toBe('endpointslice-controller.k8s.io')
      for (const { targetRef, conditions } of slice.endpoints ?? []) {
        expect(targetRef).toMatchObject({ kind: 'Pod' })
        expect(conditions?.ready).toBe(true)
      }
    }
    await bench.of(podKind).delete('one')
    await bench.settled()
    expect(addressesOf(await bench.of(endpointsKind).get('web'))).toHaveLength(1)
  })

  conformanceTest('without a selector have what somebody writes, mirrored', async (bench) => {
    await bench.apply(service('custom'))
    const subsets = (ip: string) => [{ addresses: [{ ip }], ports: [{ name: 'http', port: 80 }] }]
    await bench.of(endpointsKind).create({ metadata: { name: 'custom' }, subsets: subsets('10.1.2.3') })
    await bench.settled()
    const mirrored = async () =>
      (await slicesOf(bench, 'custom')).flatMap(({ endpoints }) => endpoints ?? []).flatMap((one) => one.addresses)
    expect(await mirrored()).toEqual(['10.1.2.3'])
    await bench.of(endpointsKind).patch('custom', { subsets: subsets('10.2.3.4') })
    await bench.settled()
    expect(await mirrored()).toEqual(['10.2.3.4'])
    await bench.of(endpointsKind).delete('custom')
    await bench.settled()
    expect(await mirrored()).toEqual([])
  })

  conformanceTest('have a status of their own, are found everywhere and deleted as a collection', async (bench) => {
    await bench.apply(
      [service('one'), service('two')].map((one) => ({ ...one, metadata: { ...one.metadata, labels: { test: 'x' } } })),
    )
    const status = { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } }
    await bench.of(serviceKind).patch(
      'one',
      {
        status: {
          conditions: [
            { type: 'Seen', status: 'True', reason: 'Test', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
          ],
        },
      },
      { subresource: 'status' },
    )
    expect((await bench.of(serviceKind).get('one')).status?.conditions).toMatchObject([{ type: 'Seen' }])
    await bench.of(serviceKind).patch('two', { spec: { type: 'LoadBalancer' } })
    await bench.of(serviceKind).patch('two', { status }, { subresource: 'status' })
    expect((await bench.of(serviceKind).get('two')).status).toMatchObject(status)
    const everywhere = await bench.client.resource(serviceKind).list({ labelSelector: 'test=x' })
    expect(names(everywhere.items)).toEqual(['one', 'two'])
    await bench.of(serviceKind).deleteCollection({}, { labelSelector: 'test=x' })
    await bench.settled()
    expect(names((await bench.of(serviceKind).list()).items)).toEqual(['kubernetes'])
  })

  conformanceTest('the API server is one of them', async (bench) => {
    const kubernetes = await bench.of(serviceKind).get('kubernetes')
    expect(kubernetes.spec?.ports).toMatchObject([{ name: 'https', port: 443, protocol: 'TCP' }])
    const [range] = (await bench.client.resource(serviceCIDRKind).list()).items
    expect(range?.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }])
    expect(range?.metadata.finalizers).toContain('networking.k8s.io/service-cidr-finalizer')
  })

  conformanceTest('a pod shows in its service soon', async (bench) => {
    await bench.apply(service('quick', { selector: { app: 'quick' } }))
    await bench.settled()
    const before = bench.clock.now()
    await bench.apply(Array.from({ length: 20 }, (_, i) => pod(`quick-${i}`, {}, { labels: { app: 'quick' } })))
    await bench.settled()
    expect(addressesOf(await bench.of(endpointsKind).get('quick'))).toHaveLength(20)
    expect(bench.clock.now() - before).toBeLessThan(2000)
  })
})

describe('limit ranges', () => {
  const range = {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'limits', labels: { test: 'x' } },
    spec: {
      limits: [
        {
          type: 'Container',
          min: { cpu: '50m', memory: '100Mi' },
          max: { cpu: '500m', memory: '500Mi' },
          default: { cpu: '500m', memory: '500Mi' },
          defaultRequest: { cpu: '100m', memory: '200Mi' },
        },
      ],
    },
  }
  const asking = (name: string, resources: object) =>
    pod(name, { containers: [{ name: 'app', image: 'a', resources }] })

  conformanceTest('fill in what pods leave out, and refuse what is outside', async (bench) => {
    await bench.apply(range)
    await bench.apply([asking('none', {}), asking('some', { requests: { cpu: '300m', memory: '150Mi' } })])
    const resourcesOf = async (name: string) => (await bench.of(podKind).get(name)).spec?.containers[0]?.resources
    const limits = { cpu: '500m', memory: '500Mi' }
    expect(await resourcesOf('none')).toEqual({ requests: { cpu: '100m', memory: '200Mi' }, limits })
    expect(await resourcesOf('some')).toEqual({ requests: { cpu: '300m', memory: '150Mi' }, limits })
    const tooMuch = asking('much', { limits: { cpu: '600m', memory: '500Mi' } })
    const tooLittle = asking('little', { requests: { cpu: '10m', memory: '100Mi' } })
    expect(await bench.codeOf(bench.of(podKind).create(tooMuch))).toBe(403)
    expect(await bench.codeOf(bench.of(podKind).create(tooLittle))).toBe(403)
    const ranges = bench.of(limitRangeKind)
    const current = await ranges.get('limits')
    const lower = { ...range.spec.limits[0]!, min: { cpu: '5m', memory: '100Mi' } }
    await ranges.update({ ...current, spec: { limits: [lower] } })
    expect(await bench.codeOf(bench.of(podKind).create(tooLittle))).toBeUndefined()
    expect(await bench.codeOf(bench.of(podKind).create(tooMuch))).toBe(403)
    await ranges.deleteCollection({}, { labelSelector: 'test=x' })
    expect(await bench.codeOf(bench.of(podKind).create(tooMuch))).toBeUndefined()
  })

  conformanceTest('are listed everywhere, patched and deleted as a collection', async (bench) => {
    const ranges = bench.of(limitRangeKind)
    await ranges.create(range)
    await bench.client.resource(namespaceKind).create({ metadata: { name: 'other' } })
    await bench.client.resource(limitRangeKind).namespace('other').create(range)
    const everywhere = async () => (await bench.client.resource(limitRangeKind).list({ labelSelector: 'test=x' })).items
    expect((await everywhere()).map(({ metadata }) => metadata.namespace)).toEqual(['default', 'other'])
    const limits = [{ ...range.spec.limits[0]!, min: { cpu: '20m' } }]
    const patched = await ranges.patch('limits', { metadata: { labels: { patched: 'yes' } }, spec: { limits } })
    expect(patched.spec?.limits).toMatchObject([{ min: { cpu: '20m' } }])
    await ranges.deleteCollection({}, { labelSelector: 'patched=yes' })
    expect((await everywhere()).map(({ metadata }) => metadata.namespace)).toEqual(['other'])
  })
})

describe('volumes', () => {
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk', labels: { test: 'x' } },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'manual',
      hostPath: { path: '/tmp/disk' },
    },
  }
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', labels: { test: 'x' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '1Gi' } },
    },
  }

  conformanceTest('are bound to claims, released, and bound again', async (bench) => {
    await bench.apply([volume, claim])
    await bench.settled()
    const volumes = bench.client.resource(persistentVolumeKind)
    const claims = bench.of(persistentVolumeClaimKind)
    expect((await volumes.get('disk')).status?.phase).toBe('Bound')
    expect((await claims.get('data')).spec?.volumeName).toBe('disk')
    await claims.patch('data', { metadata: { labels: { patched: 'yes' } } })
    await claims.delete('data')
    await bench.settled()
    expect((await volumes.get('disk')).status?.phase).toBe('Released')
    await volumes.patch('disk', { spec: { claimRef: null } })
    await bench.settled()
    expect((await volumes.get('disk')).status?.phase).toBe('Available')
    await bench.apply(claim)
    await bench.settled()
    expect((await claims.get('data')).status?.phase).toBe('Bound')
    await claims.deleteCollection({}, { labelSelector: 'test=x' })
    await bench.settled()
    await volumes.deleteCollection({}, { labelSelector: 'test=x' })
    await bench.settled()
    expect((await volumes.list()).items).toEqual([])
  })

  conformanceTest('and claims let their status be written', async (bench) => {
    await bench.apply([volume, claim])
    await bench.settled()
    const conditions = [{ type: 'Patched', status: 'True', reason: 'Test', message: '' }]
    const claims = bench.of(persistentVolumeClaimKind)
    await claims.patch('data', { status: { conditions } }, { subresource: 'status' })
    expect((await claims.get('data')).status?.conditions).toMatchObject(conditions)
    const volumes = bench.client.resource(persistentVolumeKind)
    await volumes.patch('disk', { status: { message: 'Patched', reason: 'Test' } }, { subresource: 'status' })
    expect((await volumes.get('disk')).status).toMatchObject({ message: 'Patched', reason: 'Test' })
    await bench.client.resource(volumeAttachmentKind).create({
      metadata: { name: 'attached' },
      spec: { attacher: 'driver.example.com', nodeName: 'node-1', source: { persistentVolumeName: 'disk' } },
    })
    const attachments = bench.client.resource(volumeAttachmentKind)
    await attachments.patch('attached', { status: { attached: true } }, { subresource: 'status' })
    expect((await attachments.get('attached')).status?.attached).toBe(true)
  })

  conformanceTest('are provisioned where the pod is, and go with the claim', async (bench) => {
    const dynamic = { ...claim, spec: { ...claim.spec, storageClassName: undefined } }
    const user = pod('user', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] })
    await bench.apply([dynamic, user])
    await bench.settled()
    expect((await bench.of(podKind).get('user')).status?.phase).toBe('Running')
    const [made] = (await bench.client.resource(persistentVolumeKind).list()).items
    expect(made?.spec?.claimRef).toMatchObject({ name: 'data', namespace: 'default' })
    // A claim in use outlives its deletion.
    await bench.of(persistentVolumeClaimKind).delete('data')
    await bench.settled()
    expect((await bench.of(persistentVolumeClaimKind).get('data')).metadata.deletionTimestamp).toBeDefined()
    await bench.of(podKind).delete('user')
    await bench.clock.advance('10s')
    expect((await bench.of(persistentVolumeClaimKind).list()).items).toEqual([])
    expect((await bench.client.resource(persistentVolumeKind).list()).items).toEqual([])
  })

  conformanceTest('of a CSI driver may stand in a pod', async (bench) => {
    const spec = { volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true, attachRequired: false }
    await bench.client.resource(csiDriverKind).create({ metadata: { name: 'inline.example.com' }, spec })
    const csi = { driver: 'inline.example.com', volumeAttributes: { size: '1' } }
    const volumes = [{ name: 'inline', csi }]
    const containers = [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'inline', mountPath: '/inline' }] }]
    await bench.of(podKind).create(pod('user', { containers, volumes }))
    const made = await bench.of(podKind).get('user')
    expect(made.spec?.volumes).toContainEqual({ name: 'inline', csi })
    const found = (await bench.of(podKind).list()).items.filter((one) => one.spec?.volumes?.some((each) => each.csi))
    expect(names(found)).toEqual(['user'])
    expect(await bench.codeOf(bench.of(podKind).create(pod('bad', { volumes: [{ name: 'v', csi: {} }] })))).toBe(422)
    await bench.of(podKind).delete('user', { gracePeriodSeconds: 0 })
    expect(await bench.codeOf(bench.of(podKind).get('user'))).toBe(404)
  })

  conformanceTest('classes of storage and of attributes come and go', async (bench) => {
    const classes = bench.client.resource(storageClassKind)
    const labels = { test: 'x' }
    await classes.create({ metadata: { name: 'slow', labels }, provisioner: 'example.com/slow' })
    await classes.patch('slow', { metadata: { labels: { patched: 'yes' } } })
    await classes.deleteCollection({}, { labelSelector: 'patched=yes' })
    expect(names((await classes.list()).items)).toEqual(['local-path'])
    const attributes = bench.client.resource(volumeAttributesClassKind)
    const gold = { metadata: { name: 'gold', labels }, driverName: 'driver.example.com', parameters: { iops: '100' } }
    await attributes.create(gold)
    expect(await bench.codeOf(attributes.patch('gold', { parameters: { iops: '200' } }))).toBe(422)
    await attributes.deleteCollection({}, { labelSelector: 'test=x' })
    await bench.settled()
    expect((await attributes.list()).items).toEqual([])
  })
})

describe('configuration', () => {
  conformanceTest('may be made unchangeable', async (bench) => {
    const settings = await bench.of(configMapKind).create({ metadata: { name: 'settings' }, data: { a: '1' } })
    await bench.of(configMapKind).update({ ...settings, data: { a: '2' } })
    await bench.of(configMapKind).patch('settings', { immutable: true })
    expect(await bench.codeOf(bench.of(configMapKind).patch('settings', { data: { a: '3' } }))).toBe(422)
    expect(await bench.codeOf(bench.of(configMapKind).patch('settings', { immutable: false }))).toBe(422)
    await bench.of(configMapKind).patch('settings', { metadata: { labels: { a: 'b' } } })
    await bench.of(secretKind).create({ metadata: { name: 'secret' }, stringData: { a: '1' }, immutable: true })
    expect((await bench.of(secretKind).get('secret')).data).toEqual({ a: 'MQ==' })
    expect(await bench.codeOf(bench.of(secretKind).patch('secret', { stringData: { a: '3' } }))).toBe(422)
    for (const kind of [configMapKind, secretKind] as const) {
      const empty = { metadata: { name: 'empty' }, data: { '': 'dmFsdWU=' } }
      expect(await bench.codeOf(bench.of(kind as typeof configMapKind).create(empty))).toBe(422)
    }
  })
})

describe('service accounts', () => {
  conformanceTest('are in every namespace, with the certificate of the cluster', async (bench) => {
    await bench.client.resource(namespaceKind).create({ metadata: { name: 'fresh' } })
    await bench.settled()
    const root = bench.client.resource(configMapKind).namespace('fresh')
    const certificate = (await root.get('kube-root-ca.crt')).data?.['ca.crt']
    expect(certificate).toContain('BEGIN CERTIFICATE')
    await root.delete('kube-root-ca.crt')
    await bench.settled()
    expect((await root.get('kube-root-ca.crt')).data?.['ca.crt']).toBe(certificate)
    await root.patch('kube-root-ca.crt', { data: { 'ca.crt': 'broken' } })
    await bench.settled()
    expect((await root.get('kube-root-ca.crt')).data?.['ca.crt']).toBe(certificate)
    const accounts = bench.client.resource(serviceAccountKind).namespace('fresh')
    expect((await accounts.get('default')).metadata.name).toBe('default')
    await accounts.delete('default')
    await bench.settled()
    expect((await accounts.get('default')).metadata.name).toBe('default')
  })

  conformanceTest('may keep their tokens out of pods', async (bench) => {
    await bench.of(serviceAccountKind).create({ metadata: { name: 'quiet' }, automountServiceAccountToken: false })
    const mounted = async (name: string, spec: object) => {
      const made = await bench.of(podKind).create(pod(name, spec))
      return made.spec?.containers[0]?.volumeMounts?.length ?? 0
    }
    expect(await mounted('a', {})).toBe(1)
    expect(await mounted('b', { automountServiceAccountToken: false })).toBe(0)
    expect(await mounted('c', { serviceAccountName: 'quiet' })).toBe(0)
    expect(await mounted('d', { serviceAccountName: 'quiet', automountServiceAccountToken: true })).toBe(1)
  })

  conformanceTest('have tokens that reviews believe, for requests and in secrets', async (bench) => {
    const reviewed = async (token: string) => {
      const review = await bench.client.resource(tokenReviewKind).create({ metadata: {}, spec: { token } })
      return review.status
    }
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } }
    const answer = await bench.of(serviceAccountKind).subresource('create', 'default', 'token', request)
    const { token } = (answer as { status: { token: string } }).status
    const user = { username: 'system:serviceaccount:default:default' }
    expect(await reviewed(token)).toMatchObject({ authenticated: true, user })
    expect(await reviewed(`${token}x`)).not.toMatchObject({ authenticated: true })
    const annotations = { 'kubernetes.io/service-account.name': 'default' }
    const type = 'kubernetes.io/service-account-token'
    await bench.of(secretKind).create({ metadata: { name: 'lasting', annotations }, type })
    await bench.settled()
    const { data = {} } = await bench.of(secretKind).get('lasting')
    const decoded = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString()
    expect(decoded('namespace')).toBe('default')
    expect(decoded('ca.crt')).toContain('BEGIN CERTIFICATE')
    expect(await reviewed(decoded('token'))).toMatchObject({ authenticated: true, user })
    await bench.of(secretKind).delete('lasting')
    expect(await reviewed(decoded('token'))).not.toMatchObject({ authenticated: true })
  })

  conformanceTest('and others ask for certificates, which are approved, issued and taken back', async (bench) => {
    const requests = bench.client.resource(certificateSigningRequestKind)
    const request = { metadata: { name: 'tester', labels: { test: 'x' } }, spec: SIGNING_REQUEST }
    const made = await requests.create(request)
    expect(made.spec).toMatchObject({
      username: expect.any(String),
      groups: expect.arrayContaining(['system:authenticated']),
    })
    expect(names((await requests.list({ fieldSelector: 'spec.signerName=example.com/tester' })).items)).toEqual([
      'tester',
    ])
    const condition = (type: string) => ({ type, status: 'True', reason: 'Tested', message: 'by a test' })
    const approval = { metadata: { annotations: { approved: 'yes' } }, status: { conditions: [condition('Approved')] } }
    const approved = await requests.patch('tester', approval, { subresource: 'approval' })
    expect(approved.metadata.annotations).toMatchObject({ approved: 'yes' })
    expect(approved.status?.conditions).toMatchObject([{ type: 'Approved', status: 'True' }])
    // The plain door does not touch the status.
    await requests.patch('tester', { status: { conditions: [] } })
    expect((await requests.get('tester')).status?.conditions).toHaveLength(1)
    const status = { conditions: [...(approved.status?.conditions ?? []), condition('Seen')] }
    await requests.patch('tester', { status }, { subresource: 'status' })
    expect((await requests.get('tester')).status?.conditions).toHaveLength(2)
    expect(await requests.subresource('get', 'tester', 'approval')).toMatchObject({ kind: 'CertificateSigningRequest' })
    await requests.deleteCollection({}, { labelSelector: 'test=x' })
    expect(await bench.codeOf(requests.get('tester'))).toBe(404)
  })

  conformanceTest('have their rights told by reviews', async (bench) => {
    const user = 'system:serviceaccount:default:default'
    const allowed = async (verb: string) => {
      const resourceAttributes = { verb, resource: 'pods', namespace: 'default' }
      const spec = { user, groups: ['system:serviceaccounts'], resourceAttributes }
      const all = await bench.client.resource(subjectAccessReviewKind).create({ metadata: {}, spec })
      const local = await bench.of(localSubjectAccessReviewKind).create({ metadata: { namespace: 'default' }, spec })
      expect(local.status?.allowed).toBe(all.status?.allowed)
      return all.status?.allowed
    }
    expect(await allowed('list')).toBe(false)
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
    const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }]
    await bench.of(roleBindingKind).create({ metadata: { name: 'view' }, roleRef, subjects })
    await bench.settled()
    expect([await allowed('list'), await allowed('delete')]).toEqual([true, false])
  })
})
