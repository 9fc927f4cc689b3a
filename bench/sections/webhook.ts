import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { mutatingWebhookConfigurationKind } from '../../src/api/kinds/admissionregistration/mutating-webhook-configuration.ts'
import { validatingAdmissionPolicyKind } from '../../src/api/kinds/admissionregistration/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingKind } from '../../src/api/kinds/admissionregistration/validating-admission-policy-binding.ts'
import { configMapKind } from '../../src/api/kinds/core/config-map.ts'
import { startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import { median } from '../measure.ts'
import { type Section, us } from '../report.ts'
import { servingCertificate } from '../serving-certificate.ts'

const RULE = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }
const OTHERS = { ...RULE, resources: ['secrets'] }

export const webhookSection: Section = {
  name: 'webhook',
  title: 'What admission by webhooks and policies adds to a create in process, one after the other (median)',
  async run({ quick }) {
    const count = quick ? 500 : 3_000
    const goal = 'under 2 ms'
    await using webhook = await startWebhook()
    await using plane = await startPlane()
    const { client } = plane
    const alone = await perCreate(client, 'alone', count)
    await addWebhook(client, 'others', OTHERS, webhook)
    const unconcerned = await perCreate(client, 'unconcerned', count)
    await addPolicy(client)
    const judged = await perCreate(client, 'judged', count)
    await addWebhook(client, 'asked', RULE, webhook)
    const asked = await perCreate(client, 'asked', count)
    return [
      { what: 'nobody is asked', ours: us(alone), peer: '', goal: '' },
      { what: 'a webhook for something else', ours: us(unconcerned - alone), peer: '', goal: '' },
      { what: 'a policy of one expression', ours: us(judged - unconcerned), peer: '', goal: '' },
      { what: 'a webhook that answers at once', ours: us(asked - judged), peer: '', goal },
    ]
  },
}

async function startPlane() {
  const store = await openMemoryStore()
  const parts = { store, clock: systemClock, random: seededRandom(1), log: silentLogger }
  const server = await startApiServer({ ...parts, serviceCidrs: ['10.96.0.0/16'] })
  return {
    client: createClient(server.transport({ name: 'admin', groups: ['system:masters'] }, 'bench')),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}

/** Changes nothing and refuses nothing. */
async function startWebhook() {
  const server = createServer(servingCertificate(), (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(parts).toString())
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function addWebhook(client: Client, name: string, rule: typeof RULE, { url }: { url: string }): Promise<void> {
  const caBundle = Buffer.from(servingCertificate().cert).toString('base64')
  const clientConfig = { url, caBundle }
  const common = { admissionReviewVersions: ['v1'], sideEffects: 'None', rules: [rule], clientConfig }
  await client
    .resource(mutatingWebhookConfigurationKind)
    .create({ metadata: { name }, webhooks: [{ name: `${name}.example.com`, ...common }] })
}

async function addPolicy(client: Client): Promise<void> {
  const validations = [{ expression: 'object.data.all(key, size(object.data[key]) < 10000)' }]
  const spec = { matchConstraints: { resourceRules: [RULE] }, validations }
  await client.resource(validatingAdmissionPolicyKind).create({ metadata: { name: 'p' }, spec })
  await client
    .resource(validatingAdmissionPolicyBindingKind)
    .create({ metadata: { name: 'p' }, spec: { policyName: 'p', validationActions: ['Deny'] } })
}

/** Microseconds. */
async function perCreate(client: Client, prefix: string, count: number): Promise<number> {
  const maps = client.resource(configMapKind).namespace('default')
  const data = { text: 'x'.repeat(1_000) }
  const taken: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await maps.create({ metadata: { name: `${prefix}-${i}` }, data })
    taken.push((performance.now() - start) * 1_000)
  }
  return median(taken.slice(count / 5))
}
