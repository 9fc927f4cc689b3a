import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Report, Verdict } from '../../src/doctor/control.ts'
import { asRoot } from '../linux/as-root.ts'
import { startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { expectStatus } from '../tools/use-cluster.ts'

/** `sampan doctor` as a user runs it, on a cluster with a real node where that is possible. */
const isRoot = process.getuid?.() === 0
let cluster: TestCluster

beforeAll(async () => {
  cluster = await startTestCluster({ flags: isRoot ? ['--nodes', '1'] : [] })
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

const data = (...parts: string[]) => path.join(cluster.folder, 'data', ...parts)
const doctor = (...flags: string[]) => cluster.sampan('doctor', '--name', 'test', '--data-dir', data(), ...flags)

async function examined(...flags: string[]): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await doctor(...flags, '-o', 'json')
  if (stdout === '') throw new Error(stderr)
  return { code, report: JSON.parse(stdout) as Report }
}

/** Verdicts by the ids of controls. */
async function verdicts(...flags: string[]): Promise<Record<string, Verdict>> {
  const { report } = await examined(...flags)
  return Object.fromEntries(report.results.map(({ id, verdict }) => [id, verdict]))
}

const failedIds = ({ results }: Report) => results.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id)

test('finds a machine that runs a cluster healthy', async () => {
  const found = await verdicts()
  expect(found).toMatchObject({ node: 'pass', 'data-directory': 'pass', 'api-port': 'pass', server: 'pass' })
  const { stdout } = await doctor()
  expect(stdout).toMatch(/✓ server +The API server is ready\n +process \d+: \/readyz 200\n/)
  expect(stdout).toMatch(/\d+ passed, \d+ failed, \d+ warnings, \d+ not applicable\n$/)
})

test('by default a cluster fails nothing that counts but the audit log, and the remedy names the flag', async () => {
  // Controllers start after the API.
  await expect.poll(async () => (await verdicts('--cis'))['1.3.5']).toBe('pass')
  const { code, report } = await examined('--cis')
  expect(failedIds(report)).toEqual(['1.2.16', '1.2.17', '1.2.18', '1.2.19'])
  expect(code).toBe(1)
  expect(report.results).toHaveLength(131)
  expect(report.results.find(({ id }) => id === '1.2.16')).toMatchObject({
    evidence: 'requests are not audited',
    remedy: 'sampan up --audit-policy FILE',
  })
  const { code: printed, stdout } = await doctor('--cis')
  expect(printed).toBe(1)
  expect(stdout).toMatch(/✗ 1\.2\.16 .*\n +requests are not audited\n +→ sampan up --audit-policy FILE\n/)
})

asRoot('with a real node', () => {
  test('sees its kubelet', async () => {
    await expect.poll(async () => (await verdicts('--cis'))['4.2.1']).toBe('pass')
    expect(await verdicts('--cis')).toMatchObject({
      '1.2.4': 'pass',
      '4.1.5': 'pass',
      '4.2.1': 'pass',
      '4.2.2': 'pass',
      '4.2.4': 'pass',
      '4.2.10': 'pass',
      '4.2.13': 'pass',
      '4.3.1': 'pass',
    })
  })
})

test.each([
  ['1.1.1', 'configuration.json', 'fail'],
  ['1.1.13', 'admin.kubeconfig', 'fail'],
  ['1.1.21', 'pki/service-account.key', 'warn'],
])('%s is missed while others can read %s', async (id, name, verdict) => {
  chmodSync(data(name), 0o644)
  try {
    const { report } = await examined('--cis')
    const result = report.results.find((one) => one.id === id)!
    expect(result).toMatchObject({ verdict, evidence: `${data(name)} has mode 644` })
  } finally {
    chmodSync(data(name), 0o600)
  }
  expect((await verdicts('--cis'))[id]).toBe('pass')
})

test('follows what users change in the cluster', async () => {
  const { api } = cluster
  expect(await verdicts('--cis')).toMatchObject({ '5.1.1': 'pass', '5.2.2': 'warn', '5.2.6': 'warn' })
  const binding = {
    metadata: { name: 'joe' },
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
    subjects: [{ kind: 'User', name: 'joe', apiGroup: 'rbac.authorization.k8s.io' }],
  }
  expectStatus(await api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding), 201)
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  expectStatus(await api.patch('/api/v1/namespaces/default', { metadata: { labels } }), 200)
  expect(await verdicts('--cis')).toMatchObject({ '5.1.1': 'warn', '5.2.1': 'pass', '5.2.2': 'pass', '5.2.6': 'pass' })
})

test('with an audit policy and encryption nothing that counts is missed', async () => {
  const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
  const secret = Buffer.alloc(32, 1).toString('base64')
  const encryption = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [{ secretbox: { keys: [{ name: 'one', secret }] } }] }],
  }
  writeFileSync(path.join(cluster.folder, 'policy.json'), JSON.stringify(policy))
  writeFileSync(path.join(cluster.folder, 'encryption.json'), JSON.stringify(encryption))
  await cluster.stop()
  const { folder } = cluster
  const flags = [
    '--audit-policy',
    path.join(folder, 'policy.json'),
    '--encryption-config',
    path.join(folder, 'encryption.json'),
  ]
  cluster = await startTestCluster({ folder, flags: [...flags, ...(isRoot ? ['--nodes', '1'] : [])] })
  await expect.poll(async () => failedIds((await examined('--cis')).report)).toEqual([])
  const { code, report } = await examined('--cis')
  expect(code).toBe(0)
  const found = Object.fromEntries(report.results.map(({ id, verdict }) => [id, verdict]))
  expect(found).toMatchObject({
    '1.2.16': 'pass',
    '1.2.17': 'pass',
    '1.2.27': 'pass',
    '1.2.28': 'pass',
    '3.2.1': 'pass',
  })
})

test('says what to do where no cluster runs', async () => {
  const ran = await cluster.sampan('doctor', '--cis', '--name', 'none', '--data-dir', path.join(cluster.folder, 'none'))
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('sampan up --detach')
})
