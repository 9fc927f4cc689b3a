import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { enableFeatures } from '../api/feature-gates.ts'
import type { ClusterTrustBundleProjection } from '../api/generated/core-v1.ts'
import { type ClusterTrustBundle, clusterTrustBundleKind } from '../api/kinds/certificates/cluster-trust-bundle.ts'
import { systemClock } from '../base/clock.ts'
import { loadCertificates } from '../cluster/certificates.ts'
import { isReady, type Workbench, workbench } from './workbench.contract.ts'

// Files of tests share a process.
afterAll(enableFeatures(['ClusterTrustBundle', 'ClusterTrustBundleProjection']))

const authority = async () => (await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })).ca.cert
const [first, second, third] = await Promise.all([authority(), authority(), authority()])
const lines = (...certificates: string[]) => certificates.map((text) => text.trim()).sort()

let bench: Workbench
beforeEach(async () => {
  bench = await workbench()
})
afterEach(() => bench[Symbol.asyncDispose]())

const bundles = () => bench.client.resource<ClusterTrustBundle>(clusterTrustBundleKind)
const trust = (name: string, trustBundle: string, signerName?: string, labels = {}) =>
  bundles().create({ metadata: { name, labels }, spec: { trustBundle, ...(signerName && { signerName }) } })

const run = (projection: Partial<ClusterTrustBundleProjection>) =>
  bench.create('app', {
    volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'ca.pem', ...projection } }] } }],
    containers: [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'v', mountPath: '/trust' }] }],
  })

/** The certificates in the pod's file. */
async function trusted(): Promise<string[]> {
  const [container] = await bench.runtime.listContainers()
  const { mounts } = await bench.runtime.configOf(container!.id)
  const { hostPath } = mounts.find(({ containerPath }) => containerPath === '/trust')!
  const text = await readFile(path.join(hostPath, 'ca.pem'), 'utf8')
  return lines(...text.split(/(?<=-----END CERTIFICATE-----\n)/).filter((part) => part !== ''))
}

it('a pod sees the bundle of a name, and follows it', async () => {
  await trust('ours', `ours:\n${first}`)
  await run({ name: 'ours' })
  await bench.untilPod('app', isReady)
  expect(await trusted()).toEqual(lines(first!))
  await bundles().patch('ours', { spec: { trustBundle: `${second}${third}` } })
  await bench.until(trusted, (found) => found.length === 2)
  expect(await trusted()).toEqual(lines(second!, third!))
})

it('a pod sees those of a signer that are chosen, each certificate once', async () => {
  await trust('example.com:web:one', `${first}${second}`, 'example.com/web', { live: 'yes' })
  await trust('example.com:web:two', `${second}`, 'example.com/web', { live: 'yes' })
  await trust('example.com:web:old', `${third}`, 'example.com/web')
  await trust('example.com:api:one', `${third}`, 'example.com/api', { live: 'yes' })
  await run({ signerName: 'example.com/web', labelSelector: { matchLabels: { live: 'yes' } } })
  await bench.untilPod('app', isReady)
  expect(await trusted()).toEqual(lines(first!, second!))
})

it('a pod waits for what is not there, unless it is optional', async () => {
  await run({ signerName: 'example.com/web', labelSelector: {} })
  await bench.untilEvent('app', 'FailedMount', /matched zero ClusterTrustBundles$/)
  await trust('example.com:web:one', first!, 'example.com/web')
  await bench.untilPod('app', isReady)
  expect(await trusted()).toEqual(lines(first!))
})

it('a pod starts with an empty file where that is enough', async () => {
  await run({ name: 'none', optional: true })
  await bench.untilPod('app', isReady)
  expect(await trusted()).toEqual([])
})

it.each<[string, Partial<ClusterTrustBundleProjection>, string]>([
  ['both', { name: 'a', signerName: 'example.com/b' }, 'only one of name and signerName may be used'],
  ['neither', {}, 'either name or signerName must be specified'],
  ['a name that is none', { name: 'A' }, 'not a valid clustertrustbundlename'],
  ['a selector for a name', { name: 'a', labelSelector: {} }, 'labelSelector must be unset if name is specified'],
  ['a path that leads out', { name: 'a', path: '../x' }, "must not contain '..'"],
])('a pod is refused with %s', async (_, projection, message) => {
  await expect(run(projection)).rejects.toThrow(message)
})
