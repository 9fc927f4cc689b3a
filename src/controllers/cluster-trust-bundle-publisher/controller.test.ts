import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { enableFeatures } from '../../api/feature-gates.ts'
import { clusterTrustBundleKind } from '../../api/kinds/certificates/cluster-trust-bundle.ts'
import { systemClock } from '../../base/clock.ts'
import { loadCertificates } from '../../cluster/certificates.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { clusterTrustBundlePublisherController } from './controller.ts'

// Files of tests share a process.
afterAll(enableFeatures(['ClusterTrustBundle']))

const authority = async () => (await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })).ca.cert
const [rootCertificate, old] = (await Promise.all([authority(), authority()])) as [string, string]
const SIGNER = 'kubernetes.io/kube-apiserver-serving'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [(context) => clusterTrustBundlePublisherController({ ...context, rootCertificate })],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const bundles = () => plane.client.resource(clusterTrustBundleKind)
const published = async () => (await bundles().list()).items

it('publishes the certificate under a name of its own, and puts it back', async () => {
  await plane.settled()
  const [bundle, ...more] = await published()
  expect(more).toEqual([])
  expect(bundle?.metadata.name).toMatch(/^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/)
  expect(bundle?.spec).toEqual({ signerName: SIGNER, trustBundle: rootCertificate })
  await bundles().patch(bundle!.metadata.name!, { spec: { trustBundle: old } })
  await plane.settled()
  expect((await published())[0]?.spec?.trustBundle).toBe(rootCertificate)
  await bundles().delete(bundle!.metadata.name!)
  await plane.settled()
  expect(await published()).toHaveLength(1)
})

it('takes away what was trusted before, and nothing of others', async () => {
  await plane.settled()
  const make = (name: string, signerName: string) =>
    bundles().create({ metadata: { name }, spec: { signerName, trustBundle: old } })
  await make('kubernetes.io:kube-apiserver-serving:before', SIGNER)
  await make('example.com:web:one', 'example.com/web')
  await plane.settled()
  const names = (await published()).map(({ metadata }) => metadata.name)
  expect(names).toEqual([
    'example.com:web:one',
    expect.stringMatching(/^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/),
  ])
})
