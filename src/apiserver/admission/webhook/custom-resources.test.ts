import { afterEach, describe, expect, it } from 'vitest'
import { mutatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/mutating-webhook-configuration.ts'
import { createClient } from '../../../client/client.ts'
import { Bench, definitionOf, typeOf } from '../../crd/custom-resources.fixture.ts'
import { addValidatingPolicy } from '../policy/policies.fixture.ts'
import { patchOf, startWebhookServer, type WebhookServer, webhookAt } from './webhook-server.fixture.ts'

let bench: Bench
let hooks: WebhookServer
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  await hooks[Symbol.asyncDispose]()
})

const spec = { properties: { size: { type: 'integer' }, color: { type: 'string' } } }
const definition = definitionOf({
  versions: [
    { name: 'v1', spec },
    { name: 'v2', spec },
  ],
})

async function start(apiVersions: string[], matchPolicy: string) {
  hooks = await startWebhookServer(() =>
    patchOf([
      { op: 'add', path: '/spec/color', value: 'blue' },
      { op: 'add', path: '/spec/unknown', value: 1 },
    ]),
  )
  bench = await Bench.start({ resolveService: hooks.resolveService })
  await bench.define(definition)
  const rule = { apiGroups: ['example.com'], apiVersions, operations: ['CREATE'], resources: ['widgets'] }
  await createClient(bench.api)
    .resource(mutatingWebhookConfigurationKind)
    .create({ metadata: { name: 'm' }, webhooks: [webhookAt('m', { rules: [rule], matchPolicy })] })
}

const widget = (version: string) => ({
  apiVersion: `example.com/${version}`,
  kind: 'Widget',
  metadata: { name: 'w' },
  spec: { size: 1 },
})

describe('webhooks of custom resources', () => {
  it.each<[asked: string, wants: string, matchPolicy: string, seen: string | undefined]>([
    ['v1', 'v1', 'Equivalent', 'v1'],
    ['v1', 'v2', 'Equivalent', 'v2'],
    ['v2', 'v1', 'Equivalent', 'v1'],
    ['v2', 'v1', 'Exact', undefined],
  ])('a request for %s, a webhook for %s, %s', async (asked, wants, matchPolicy, seen) => {
    await start([wants], matchPolicy)
    const created = await bench.create(typeOf(definition, asked), widget(asked))
    expect(hooks.calls.map(({ request }) => request.object?.apiVersion)).toEqual(seen ? [`example.com/${seen}`] : [])
    expect(created.apiVersion).toBe(`example.com/${asked}`)
    expect(created.spec).toEqual(seen ? { size: 1, color: 'blue' } : { size: 1 })
    expect((await bench.get(typeOf(definition, 'v2'), 'w')).spec).toEqual(created.spec)
  })

  it('custom resources can be parameters of policies', async () => {
    await start(['v9'], 'Exact')
    await bench.create(typeOf(definition, 'v1'), widget('v1'))
    await addValidatingPolicy(
      createClient(bench.api),
      'p',
      {
        paramKind: { apiVersion: 'example.com/v2', kind: 'Widget' },
        validations: [{ expression: 'size(object.data) <= params.spec.size && params.apiVersion == "example.com/v2"' }],
      },
      { paramRef: { name: 'w', parameterNotFoundAction: 'Deny' } },
    )
    const maps = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
    await bench.create(maps, { metadata: { name: 'one' }, data: { a: '1' } })
    await expect(bench.create(maps, { metadata: { name: 'two' }, data: { a: '1', b: '2' } })).rejects.toThrow(
      /denied request: failed expression/,
    )
  })
})
