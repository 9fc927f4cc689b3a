import { describe, expect } from 'vitest'
import { replicaSetKind } from '../../src/api/kinds/apps/replica-set/kind.ts'
import { configMapKind } from '../../src/api/kinds/core/config-map.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { replicationControllerKind } from '../../src/api/kinds/core/replication-controller.ts'
import { resourceQuotaKind } from '../../src/api/kinds/core/resource-quota.ts'
import { secretKind } from '../../src/api/kinds/core/secret.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { conformanceTest, names, pod, template, workload } from '../tools/conformance.ts'

/** What the conformance suite asks of quotas, in our own words; see docs/conformance.md. */

const EXTENDED = 'example.com/dongle'
const quota = (name: string, hard: Record<string, string>, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name, labels: { test: 'quota' } },
  spec: { hard, ...spec },
})
const COUNTS = quota('counts', {
  pods: '5',
  services: '10',
  'services.nodeports': '1',
  'services.loadbalancers': '1',
  replicationcontrollers: '10',
  resourcequotas: '1',
  cpu: '1',
  memory: '500Mi',
  configmaps: '10',
  secrets: '10',
  persistentvolumeclaims: '10',
  'requests.storage': '10Gi',
  'ephemeral-storage': '50Gi',
  'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '10',
  'gold.storageclass.storage.k8s.io/requests.storage': '10Gi',
  'count/replicasets.apps': '5',
  [`requests.${EXTENDED}`]: '3',
})

/** What a quota counts once everybody had their turn. */
async function usedBy(bench: ConformanceBench, name = 'counts'): Promise<Record<string, unknown>> {
  await bench.settled()
  return (await bench.of(resourceQuotaKind).get(name)).status?.used ?? {}
}
const asking = (requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  containers: [{ name: 'app', image: 'app:1', resources: { requests, limits } }],
})

describe('a quota', () => {
  conformanceTest('says at once what is used of everything it limits', async (bench) => {
    await bench.apply(COUNTS)
    const used = await usedBy(bench)
    const { status } = await bench.of(resourceQuotaKind).get('counts')
    expect(status?.hard).toEqual(COUNTS.spec.hard)
    expect(Object.keys(used).sort()).toEqual(Object.keys(COUNTS.spec.hard).sort())
    expect(used).toMatchObject({ resourcequotas: '1', pods: '0', secrets: '0', 'count/replicasets.apps': '0' })
  })

  conformanceTest('follows the life of a pod, and refuses what is too much', async (bench) => {
    await bench.apply(COUNTS)
    await bench.settled()
    const requests = { cpu: '500m', memory: '252Mi', 'ephemeral-storage': '30Gi', [EXTENDED]: '2' }
    await bench.of(podKind).create(pod('fits', asking(requests, { [EXTENDED]: '2' })))
    const taken = {
      pods: '1',
      cpu: '500m',
      memory: '252Mi',
      'ephemeral-storage': '30Gi',
      [`requests.${EXTENDED}`]: '2',
    }
    expect(await usedBy(bench)).toMatchObject(taken)
    const tooMuch = bench.of(podKind).create(pod('much', asking({ cpu: '600m', memory: '100Mi' })))
    await expect(tooMuch).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining('exceeded quota: counts'),
    })
    const another = { ...requests, memory: '100Mi' }
    expect(await bench.codeOf(bench.of(podKind).create(pod('more', asking(another, { [EXTENDED]: '2' }))))).toBe(403)
    const current = await bench.of(podKind).get('fits')
    const smaller = asking({ cpu: '100m', memory: '100Mi', 'ephemeral-storage': '10Gi' })
    expect(await bench.codeOf(bench.of(podKind).update({ ...current, spec: { ...current.spec!, ...smaller } }))).toBe(
      422,
    )
    expect(await usedBy(bench)).toMatchObject(taken)
    await bench.of(podKind).delete('fits', { gracePeriodSeconds: 0 })
    const free = { pods: '0', cpu: '0', memory: '0', 'ephemeral-storage': '0', [`requests.${EXTENDED}`]: '0' }
    expect(await usedBy(bench)).toMatchObject(free)
  })

  conformanceTest('counts services by their type', async (bench) => {
    await bench.apply(COUNTS)
    await bench.settled()
    const service = (name: string, type: string) => ({
      metadata: { name },
      spec: { type, ports: [{ port: 80 }], ...(type === 'LoadBalancer' && { allocateLoadBalancerNodePorts: false }) },
    })
    const { used: before } = (await bench.of(resourceQuotaKind).get('counts')).status ?? {}
    const already = Number(before?.services)
    await bench.of(serviceKind).create(service('inside', 'ClusterIP'))
    await bench.of(serviceKind).create(service('outside', 'NodePort'))
    expect(await bench.codeOf(bench.of(serviceKind).create(service('second', 'NodePort')))).toBe(403)
    expect(await usedBy(bench)).toMatchObject({
      services: String(already + 2),
      'services.nodeports': '1',
      'services.loadbalancers': '0',
    })
    await bench.of(serviceKind).create(service('balanced', 'LoadBalancer'))
    expect(await usedBy(bench)).toMatchObject({ services: String(already + 3), 'services.loadbalancers': '1' })
    for (const name of ['inside', 'outside', 'balanced']) await bench.of(serviceKind).delete(name)
    expect(await usedBy(bench)).toMatchObject({ ...before, services: String(already) })
  })

  const replicas = { replicas: 0, template: template('counted') }
  const LIVES = [
    ['a secret', secretKind, 'secrets', { stringData: { a: 'b' } }],
    ['a configMap', configMapKind, 'configmaps', { data: { a: 'b' } }],
    [
      'a replication controller',
      replicationControllerKind,
      'replicationcontrollers',
      { spec: { ...replicas, selector: { app: 'counted' } } },
    ],
    [
      'a replica set',
      replicaSetKind,
      'count/replicasets.apps',
      { spec: workload('ReplicaSet', 'counted', { replicas: 0 }).spec },
    ],
  ] as const
  for (const [title, kind, resource, body] of LIVES)
    conformanceTest(`captures the life of ${title}`, async (bench) => {
      await bench.apply(COUNTS)
      const before = Number((await usedBy(bench))[resource])
      const objects = bench.of(kind as typeof configMapKind)
      await objects.create({ metadata: { name: 'counted' }, ...(body as object) })
      expect((await usedBy(bench))[resource]).toBe(String(before + 1))
      await objects.delete('counted')
      expect((await usedBy(bench))[resource]).toBe(String(before))
    })

  const SCOPES: readonly [scopes: [string, string], counted: object, ignored: object][] = [
    [['Terminating', 'NotTerminating'], { activeDeadlineSeconds: 3600 }, {}],
    [['BestEffort', 'NotBestEffort'], { containers: [{ name: 'app', image: 'app:1' }] }, {}],
  ]
  for (const [scopes, inFirst, inSecond] of SCOPES)
    conformanceTest(`of the scope ${scopes.join(' or ')} counts those pods alone`, async (bench) => {
      const hard: Record<string, string> = scopes[0] === 'BestEffort' ? { pods: '5' } : { pods: '1', 'limits.cpu': '1' }
      await bench.apply(scopes.map((scope) => quota(scope.toLowerCase(), hard, { scopes: [scope] })))
      const used = async () => {
        const [first, second] = [
          await usedBy(bench, scopes[0].toLowerCase()),
          await usedBy(bench, scopes[1].toLowerCase()),
        ]
        return [first.pods, second.pods]
      }
      expect(await used()).toEqual(['0', '0'])
      const limited = asking({ cpu: '500m', memory: '200Mi' }, { cpu: '1', memory: '400Mi' })
      await bench.of(podKind).create(pod('second', { ...limited, ...inSecond }))
      expect(await used()).toEqual(['0', '1'])
      await bench.of(podKind).delete('second', { gracePeriodSeconds: 0 })
      expect(await used()).toEqual(['0', '0'])
      await bench.of(podKind).create(pod('first', { ...limited, ...inFirst }))
      expect(await used()).toEqual(['1', '0'])
      await bench.of(podKind).delete('first', { gracePeriodSeconds: 0 })
      expect(await used()).toEqual(['0', '0'])
    })

  conformanceTest('is read, updated, patched, found and deleted like any object', async (bench) => {
    const quotas = bench.of(resourceQuotaKind)
    await quotas.create(quota('limits', { cpu: '1', memory: '500Mi' }))
    await bench.settled()
    const made = await quotas.get('limits')
    expect(made.spec?.hard).toEqual({ cpu: '1', memory: '500Mi' })
    const updated = await quotas.update({ ...made, spec: { hard: { cpu: '2', memory: '1Gi' } } })
    expect((await quotas.get('limits')).spec?.hard).toEqual({ cpu: '2', memory: '1Gi' })
    const everywhere = bench.client.resource(resourceQuotaKind)
    expect(names((await everywhere.list({ labelSelector: 'test=quota' })).items)).toEqual(['limits'])
    const patch = { metadata: { labels: { patched: 'yes' } }, spec: { hard: { memory: '750Mi' } } }
    const patched = await quotas.patch('limits', patch, { type: 'application/strategic-merge-patch+json' })
    expect(patched.spec?.hard).toEqual({ cpu: '2', memory: '750Mi' })
    expect(patched.metadata.labels).toMatchObject({ patched: 'yes' })
    expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(updated.metadata.resourceVersion))
    await quotas.deleteCollection({}, { labelSelector: 'patched=yes' })
    expect(await bench.codeOf(quotas.get('limits'))).toBe(404)
  })

  conformanceTest('lets its status be written, and corrects it with time', async (bench) => {
    const quotas = bench.of(resourceQuotaKind)
    await quotas.create(quota('limits', { cpu: '500m', memory: '500Mi' }))
    await bench.settled()
    expect((await quotas.get('limits')).status?.hard).toEqual({ cpu: '500m', memory: '500Mi' })
    await quotas.patch('limits', { spec: { hard: { cpu: '1', memory: '1Gi' } } })
    await bench.settled()
    const current = await quotas.get('limits')
    expect(current.status?.hard).toEqual({ cpu: '1', memory: '1Gi' })
    const written = await quotas.updateStatus({ ...current, status: { ...current.status, hard: { cpu: '3' } } })
    expect(written.status?.hard).toEqual({ cpu: '3' })
    const hard = { cpu: '2', memory: '2Gi' }
    const repatched = await quotas.patch('limits', { status: { hard } }, { subresource: 'status' })
    expect(repatched.status?.hard).toEqual(hard)
    expect(repatched.spec?.hard).toEqual({ cpu: '1', memory: '1Gi' })
    await bench.clock.advance('6m')
    expect((await quotas.get('limits')).status?.hard).toEqual({ cpu: '1', memory: '1Gi' })
  })
})
