import { KubeConfig } from 'kubernetes-client-node-1'
import { describe, expect, test, vi } from 'vitest'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'
import { startWebhookServer } from '../tools/webhook-server.ts'
import {
  GROUP,
  PLURAL,
  startWebsiteOperator,
  webhookConfiguration,
  websiteDefinition,
  websiteWebhooks,
} from './website-operator.ts'

const NAMESPACE = 'operator'
const server = useCluster(NAMESPACE, { store: 'memory' })
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const WEBSITES = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/${PLURAL}`
describe('an operator written with @kubernetes/client-node', () => {
  test('serves its webhooks, follows its kind, writes status and cleans up', async () => {
    const { api } = server
    await using webhooks = await startWebhookServer(websiteWebhooks)
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    expectStatus(await api.create(definitions, websiteDefinition), 201)
    for (const [plural, kind, path] of [
      ['mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', 'mutate'],
      ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', 'validate'],
    ] as const) {
      const configuration = webhookConfiguration(kind, `${webhooks.url}/${path}`, webhooks.caBundle)
      expectStatus(await api.create(`${ADMISSION}/${plural}`, configuration), 201)
    }
    const config = new KubeConfig()
    config.loadFromFile(server.cluster.kubeconfig)
    await using operator = await startWebsiteOperator(config, NAMESPACE)
    const name = 'shop'
    const settled = (generation: number) =>
      vi.waitFor(
        async () =>
          expect((await api.get(`${WEBSITES}/${name}`)).object).toMatchObject({
            metadata: { generation },
            status: { observedGeneration: generation, configMap: `website-${name}` },
          }),
        { timeout: 20_000, interval: 100 },
      )
    const data = async () => (await api.get(`/api/v1/namespaces/${NAMESPACE}/configmaps/website-${name}`)).object.data

    const website = {
      apiVersion: `${GROUP}/v1`,
      kind: 'Website',
      metadata: { name },
      spec: { host: 'shop.example.com' },
    }
    expectStatus(await api.create(WEBSITES, website), 201)
    await settled(1)
    expect(await data()).toEqual({ host: 'shop.example.com', theme: 'by the webhook' })
    expectStatus(await api.patch(`${WEBSITES}/${name}`, { spec: { theme: 'dark' } }), 200)
    await settled(2)
    expect(await data()).toEqual({ host: 'shop.example.com', theme: 'dark' })
    const refused = expectStatus(await api.patch(`${WEBSITES}/${name}`, { spec: { host: 'elsewhere' } }), 403)
    expect(refused.object.message).toContain('a website does not move')
    expectStatus(await api.patch(`${WEBSITES}/${name}`, { spec: { host: 'x' } }), 422)
    await api.delete(`${WEBSITES}/${name}`)
    await vi.waitFor(async () => expectStatus(await api.get(`${WEBSITES}/${name}`), 404), {
      timeout: 20_000,
      interval: 100,
    })
    expect(await data()).toBeUndefined()
    expect(operator.problems).toEqual([])
  }, 60_000)
})
