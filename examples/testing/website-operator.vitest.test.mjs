// npx vitest run examples/testing
import { KubeConfig } from 'kubernetes-client-node-1'
import { startCluster } from 'sampan/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from './until.mjs'
import { startOperator } from './website-operator.mjs'

const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
let cluster
let operator

beforeAll(async () => {
  cluster = await startCluster({ nodes: 3 })
  const config = new KubeConfig()
  config.loadFromString(await cluster.kubeconfig)
  operator = await startOperator(config)
})
afterAll(async () => {
  await operator?.stop()
  await cluster?.dispose()
})

const website = (replicas, image = 'nginx') => `
apiVersion: v1
kind: ConfigMap
metadata: { name: shop, labels: { example.com/website: "yes" } }
data: { replicas: "${replicas}", image: ${image} }
`
const pods = async () => (await cluster.client.resource(PODS).namespace('default').list()).items
const running = async () => (await pods()).filter(({ status }) => status.phase === 'Running')

test('a website gets its pods, on several nodes', async () => {
  await cluster.apply(website(3))
  const found = await until(async () => (await running()).length === 3 && running())
  expect(new Set(found.map(({ spec }) => spec.nodeName)).size).toBe(3)
})

test('it follows the number of replicas', async () => {
  await cluster.apply(website(5))
  await until(async () => (await running()).length === 5)
  await cluster.apply(website(2))
  await until(async () => (await pods()).length === 2)
})

test('it survives the death of a node', async () => {
  const [victim] = await running()
  cluster.kill(victim.spec.nodeName)
  await cluster.clock.advance('10m')
  const rest = (await running()).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  expect(rest).toHaveLength(2)
  expect(rest.map(({ spec }) => spec.nodeName)).not.toContain(victim.spec.nodeName)
  await cluster.revive(victim.spec.nodeName)
})

test('everything goes with the website', async () => {
  await cluster.client.resource(CONFIG_MAPS).namespace('default').delete('shop', { propagationPolicy: 'Background' })
  await until(async () => (await pods()).length === 0)
})
