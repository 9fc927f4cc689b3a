// Jest: NODE_OPTIONS=--experimental-vm-modules npx jest --config examples/testing/jest.config.json
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startCluster } from 'sampan/testing'

const DEPLOYMENTS = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true }
const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }
let cluster

beforeAll(async () => {
  cluster = await startCluster({ nodes: 2, seed: 7 })
})
afterAll(() => cluster.dispose())

const deployment = (image) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  replicas: 4
  progressDeadlineSeconds: 60
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec: { containers: [{ name: shop, image: "${image}" }] }
`
const condition = async (type) => {
  const { status } = await cluster.find(DEPLOYMENTS, 'shop')
  return status.conditions.find((one) => one.type === type)
}
const images = async () => {
  const { items } = await cluster.client.resource(PODS).namespace('default').list()
  return items.filter(({ status }) => status.phase === 'Running').map(({ spec }) => spec.containers[0].image)
}

test('a good version replaces the old one', async () => {
  await cluster.apply(deployment('shop:1'))
  await cluster.settled()
  await cluster.apply(deployment('shop:2'))
  await cluster.settled()
  expect(await images()).toEqual(Array(4).fill('shop:2'))
})

test('a version that cannot be pulled is reported after its deadline, and the old one keeps running', async () => {
  await cluster.apply(deployment('shop:nonexistent'))
  await cluster.clock.advance('2m')
  expect(await condition('Progressing')).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' })
  expect(await images()).toEqual(Array(3).fill('shop:2'))
})
