/** A cluster and a machine that joins it, in one process: everything but the node itself. */
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootstrapTokenSecret, parseBootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { createClient } from '../../client/client.ts'
import { createHttpTransport } from '../../client/http-transport.ts'
import { connectionOf, loadKubeconfig } from '../../client/kubeconfig.ts'
import { publicKeyHash } from '../../x509/public-key-hash.ts'
import { openToMachines } from '../control-plane/listen-addresses.ts'
import { publishClusterInfo } from '../control-plane/publish-cluster-info.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import { nodeKubeconfigPath } from '../node/node-settings.ts'
import { type Cluster, startCluster } from '../start-cluster.ts'
import { discoverCluster } from './discover.ts'
import { enrol } from './enrol.ts'
import { type CertificateUse, readCertificate } from './node-certificates.ts'
import { renewCertificates } from './renewal.ts'

const TOKEN = parseBootstrapToken('abcdef.0123456789abcdef')!
const configuration: AgreedConfiguration = {
  clusterCidrs: ['10.244.0.0/16'],
  serviceCidrs: ['10.96.0.0/16'],
  clusterDns: '10.96.0.10',
  clusterDomain: 'cluster.local',
  network: 'vxlan',
  proxyMode: 'nftables',
}

let cluster: Cluster
let folder: string
let server: URL
let ca: string
const later = (milliseconds: number): Clock => ({
  now: () => systemClock.now() + milliseconds,
  after: (delay, work) => systemClock.after(delay, work),
  sleep: (delay, signal) => systemClock.sleep(delay, signal),
})

/** Whoever sleeps by it wakes at once, later. */
function hurried(): Clock {
  let ahead = 0
  const sleep = async (delay: number) => {
    ahead += delay
  }
  return { ...later(0), now: () => systemClock.now() + ahead, sleep }
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-join-'))
  const { authentication } = openToMachines({}, '127.0.0.1')
  cluster = await startCluster({ ...(authentication && { authentication }), scheduler: false })
  server = new URL(cluster.url!)
  ca = (await cluster.certificates).ca.cert
  await publishClusterInfo(cluster.client, { server: cluster.url!, ca, configuration })
  const secret = { ...TOKEN, description: '', usages: ['signing', 'authentication'], groups: [] }
  await cluster.client.resource(secretKind).create(bootstrapTokenSecret(secret))
  const signOnly = { ...secret, id: 'signer', usages: ['signing'] }
  await cluster.client.resource(secretKind).create(bootstrapTokenSecret(signOnly))
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('discoverCluster', () => {
  const discover = (changes: Partial<Parameters<typeof discoverCluster>[0]> = {}) =>
    discoverCluster({ server, token: TOKEN, caCertHashes: [publicKeyHash(ca)], clock: systemClock, ...changes })

  it('finds a cluster that proves who it is', async () => {
    expect(await discover()).toEqual({ server: server.origin, ca })
    expect(await discover({ caCertHashes: [] })).toEqual({ server: server.origin, ca })
    expect(await discover({ caCertHashes: [`sha256:${'0'.repeat(64)}`, publicKeyHash(ca)] })).toBeTruthy()
  })

  it.each([
    ['a token that is not there', { token: { ...TOKEN, id: 'zzzzzz' }, clock: hurried() }, 'knows no token zzzzzz'],
    ['another secret', { token: { ...TOKEN, secret: 'ffffffffffffffff' } }, 'not the one that the cluster knows'],
    ['another authority', { caCertHashes: [`sha256:${'0'.repeat(64)}`] }, 'not the one that was named'],
    ['a clock that is slow', { clock: later(-3_600_000) }, '60 minutes behind'],
    ['a clock that is fast', { clock: later(600_000) }, '10 minutes ahead'],
    ['nobody there', { server: new URL('https://127.0.0.1:1') }, 'cannot be reached'],
  ])('says what is wrong: %s', async (_, changes, message) => {
    const failure = await discover(changes).catch((error: unknown) => error as { message: string; hints: string[] })
    expect(failure).toMatchObject({ name: 'UserError', message: expect.stringContaining(message) })
    expect((failure as { hints: string[] }).hints.length).toBeGreaterThan(0)
  })

  it('wants a name that the certificate is for', async () => {
    const other = await cluster.listen({ host: '127.0.0.2' })
    await expect(discover({ server: new URL(other) })).rejects.toThrow('is not for 127.0.0.2')
  })

  it('is not told anything by a cluster that nobody may join', async () => {
    await cluster.client.resource(configMapKind).namespace('kube-public').delete('cluster-info')
    try {
      await expect(discover()).rejects.toThrow('lets no machines join')
    } finally {
      await publishClusterInfo(cluster.client, { server: cluster.url!, ca, configuration })
    }
  })
})

describe('who has no name', () => {
  it.each([
    ['/api/v1/namespaces/kube-public/configmaps/cluster-info', 200],
    ['/api/v1/namespaces/kube-public/configmaps', 401],
    ['/api/v1/nodes', 401],
  ])('gets %s: %i', async (path, status) => {
    await using transport = createHttpTransport({ server: server.origin, ca, clock: systemClock })
    const answer = await transport.raw({ path }).then(
      () => 200,
      (error: { code: number }) => error.code,
    )
    expect(answer).toBe(status)
  })
})

describe('enrol', () => {
  const identityOf = (name: string, address = '192.0.2.7') => ({ name, address, dataDir: path.join(folder, name) })
  const join = (name: string, token = 'abcdef.0123456789abcdef', address?: string) =>
    enrol({ server: server.origin, ca }, token, identityOf(name, address), systemClock)
  const clientOf = async (name: string, use: Exclude<CertificateUse, 'serving'>) => {
    const connection = await connectionOf(await loadKubeconfig([nodeKubeconfigPath(path.join(folder, name), use)]))
    return createHttpTransport({ ...connection, clock: systemClock })
  }

  it('gives each part of a node its own certificate, with its own rights', async () => {
    expect(await join('n1')).toEqual(configuration)
    const { status } = await cluster.client.resource(nodeKind).get('n1')
    expect(status?.addresses).toContainEqual({ type: 'InternalIP', address: '192.0.2.7' })
    const serving = await readCertificate(path.join(folder, 'n1'), 'serving')
    expect([serving?.checkIP('192.0.2.7'), serving?.checkHost('n1')]).toEqual(['192.0.2.7', 'n1'])
    for (const [use, endpointSlices] of [
      ['kubelet', 403],
      ['kube-proxy', 200],
      ['cluster-dns', 200],
    ] as const) {
      await using transport = await clientOf('n1', use)
      const status = (path: string) =>
        transport.raw({ path }).then(
          () => 200,
          (error: { code: number }) => error.code,
        )
      expect([use, await status('/apis/discovery.k8s.io/v1/endpointslices')]).toEqual([use, endpointSlices])
      expect([use, await status('/api/v1/secrets')]).toEqual([use, 403])
      expect([use, await status('/api/v1/namespaces/kube-system/configmaps')]).toEqual([use, 403])
    }
  })

  it('refuses a name that a ready node has, and leaves nothing', async () => {
    const conditions = [{ type: 'Ready', status: 'True' as const }]
    await cluster.client.resource(nodeKind).create({ metadata: { name: 'taken' }, status: { conditions } })
    await expect(join('taken')).rejects.toThrow('has a node taken already')
    expect(await readdir(folder)).not.toContain('taken')
  })

  it.each([
    ['that is unknown', 'zzzzzz.0123456789abcdef'],
    ['that is for signatures only', 'signer.0123456789abcdef'],
  ])('refuses a token %s', async (_, token) => {
    await expect(join('n2', token)).rejects.toThrow('does not accept the token')
    expect(await readdir(folder)).not.toContain('n2')
  })

  it('renews what is old, as the node, without a token', async () => {
    const identity = identityOf('n3', '192.0.2.8')
    await join('n3', undefined, '192.0.2.8')
    const pems = async () =>
      Promise.all(
        ['kubelet.kubeconfig', 'kubelet-server.pem'].map((file) => readFile(path.join(identity.dataDir, 'pki', file))),
      )
    const before = await pems()
    const renew = async (clock: Clock, address = identity.address) => {
      await using transport = await clientOf('n3', 'kubelet')
      const cluster = { server: server.origin, ca }
      return await renewCertificates({ cluster, identity: { ...identity, address }, transport, share: 0.8, clock })
    }
    expect(await renew(systemClock)).toEqual([])
    expect(await pems()).toEqual(before)
    expect(await renew(systemClock, '192.0.2.9')).toEqual(['serving'])
    const day = 24 * 3_600_000
    expect(await renew(later(290 * day), '192.0.2.9')).toEqual([])
    expect(await renew(later(300 * day), '192.0.2.9')).toEqual(['kubelet', 'kube-proxy', 'cluster-dns', 'serving'])
    expect((await pems())[0]).not.toEqual(before[0])
    await using transport = await clientOf('n3', 'kubelet')
    expect((await createClient(transport).resource(nodeKind).get('n3')).metadata.name).toBe('n3')
  })
})
