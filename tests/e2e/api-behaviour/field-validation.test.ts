import { describe, expect, test } from 'vitest'
import type { Answer } from '../../tools/api.ts'
import { textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const NAMESPACE = 'strictness'
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const server = useCluster(NAMESPACE)

/** As text, for only text can hold a field twice. */
const deployment = (name: string, spec: string, metadata = '') => `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {"name": "${name}"${metadata}},
  "spec": {${spec} "selector": {"matchLabels": {"app": "x"}}, "template": {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]}}}}`

const post = (body: string, mode: string, type = 'application/json') =>
  server.api.request('POST', `${DEPLOYMENTS}?fieldValidation=${mode}&fieldManager=tester`, {
    body,
    headers: { 'content-type': type },
  })

const warnings = (answer: Answer) => answer.headers.warning ?? ''

describe('unknown and duplicate fields of a typed object', () => {
  const body = (name: string) => deployment(name, '"foo": "unknown", "replicas": 2, "replicas": 3,')

  test('Strict refuses and names them', async () => {
    const answer = expectStatus(await post(body('strict'), 'Strict'), 400)
    expect(answer.object).toMatchObject({ kind: 'Status', reason: 'BadRequest', code: 400 })
    expect(textAt(answer.object, 'message')).toContain('strict decoding error')
    expect(textAt(answer.object, 'message')).toContain('unknown field "spec.foo"')
    expect(textAt(answer.object, 'message')).toContain('duplicate field "spec.replicas"')
    expectStatus(await server.api.get(`${DEPLOYMENTS}/strict`), 404)
  })

  test('Warn takes it and warns', async () => {
    const answer = expectStatus(await post(body('warned'), 'Warn'), 201)
    expect(warnings(answer)).toContain('unknown field \\"spec.foo\\"')
    expect(warnings(answer)).toContain('duplicate field \\"spec.replicas\\"')
    expect(answer.object).toMatchObject({ spec: { replicas: 3 } })
    expect(answer.text).not.toContain('"foo"')
  })

  test('Ignore takes it silently', async () => {
    const answer = expectStatus(await post(body('ignored'), 'Ignore'), 201)
    expect(warnings(answer)).toBe('')
  })

  test('Warn is the default', async () => {
    const answer = await server.api.request('POST', DEPLOYMENTS, {
      body: body('default'),
      headers: { 'content-type': 'application/json' },
    })
    expectStatus(answer, 201)
    expect(warnings(answer)).toContain('spec.foo')
  })

  test('an unknown mode is refused', async () => {
    const answer = await post(body('mode'), 'Maybe')
    expect([400, 422]).toContain(answer.status)
    expect(answer.text).toContain('fieldValidation')
  })

  test('unknown metadata, and fields deep in lists', async () => {
    const spec =
      '"template": {"metadata": {"unknownMeta": "a", "labels": {"app": "x"}}, "spec": {"containers": [{"name": "a", "image": "b", "command": [], "colour": "red"}]}},'
    const text = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"meta","unknownMeta":"foo"},"spec":{${spec}"selector":{"matchLabels":{"app":"x"}}}}`
    const message = textAt(expectStatus(await post(text, 'Strict'), 400).object, 'message')
    for (const field of [
      'metadata.unknownMeta',
      'spec.template.metadata.unknownMeta',
      'spec.template.spec.containers[0].colour',
    ]) {
      expect(message).toContain(`unknown field "${field}"`)
    }
  })

  test('YAML bodies', async () => {
    const yaml = `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: yaml\nspec:\n  foo: unknown\n  replicas: 1\n  replicas: 2\n  selector: {matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: x}}\n    spec: {containers: [{name: a, image: b}]}\n`
    const refused = expectStatus(await post(yaml, 'Strict', 'application/yaml'), 400)
    expect(textAt(refused.object, 'message')).toContain('replicas')
    expectStatus(
      await post(yaml.replace('  replicas: 1\n', '').replace('  foo: unknown\n', ''), 'Strict', 'application/yaml'),
      201,
    )
  })

  test.each([
    ['merge', 'application/merge-patch+json', '{"spec":{"foo":"x","replicas":4,"replicas":5}}'],
    ['strategic', 'application/strategic-merge-patch+json', '{"spec":{"foo":"x","replicas":4,"replicas":5}}'],
    ['json', 'application/json-patch+json', '[{"op":"add","path":"/spec/foo","value":"x"}]'],
  ])('a %s patch', async (_name, type, body) => {
    await post(deployment('patched', '"replicas": 1,'), 'Strict')
    const send = (mode: string) =>
      server.api.request('PATCH', `${DEPLOYMENTS}/patched?fieldValidation=${mode}`, {
        body,
        headers: { 'content-type': type },
      })
    const strict = expectStatus(await send('Strict'), 400)
    expect(textAt(strict.object, 'message')).toMatch(/foo/)
    const warned = expectStatus(await send('Warn'), 200)
    expect(warnings(warned)).toContain('foo')
    expect(warned.text).not.toContain('"foo"')
    expect(warnings(expectStatus(await send('Ignore'), 200))).toBe('')
  })

  test('an apply patch may hold nothing unknown, whatever the mode', async () => {
    await post(deployment('applied', '"replicas": 1,'), 'Strict')
    const send = (spec: string, mode: string) =>
      server.api.request('PATCH', `${DEPLOYMENTS}/applied?fieldValidation=${mode}&fieldManager=x&force=true`, {
        body: deployment('applied', spec),
        headers: { 'content-type': 'application/apply-patch+yaml' },
      })
    for (const mode of ['Strict', 'Warn', 'Ignore']) expectStatus(await send('"foo": "x",', mode), 400)
    const twice = '"replicas": 4, "replicas": 5,'
    expect(textAt(expectStatus(await send(twice, 'Strict'), 400).object, 'message')).toContain('replicas')
    expect(warnings(expectStatus(await send(twice, 'Warn'), 200))).toContain('replicas')
    expect(warnings(expectStatus(await send(twice, 'Ignore'), 200))).toBe('')
  })
})
