import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueCertificate } from '../../src/x509/certificate.ts'
import {
  DEFINITIONS,
  type Defined,
  defineKind,
  definitionOf,
  object,
  PRESERVE,
  string,
  type Version,
} from '../tools/custom-kinds.ts'
import { at, type Json, listAt, textAt } from '../tools/json.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** What the conformance suite asks of custom resources, in our own words; see docs/conformance.md. */

const NAMESPACE = 'conformance-custom'
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const server = useCluster(NAMESPACE)
const define = (definition: ReturnType<typeof definitionOf>) => defineKind(server.api, NAMESPACE, definition)
const create = async (things: Defined, version: string, name: string, body: object) =>
  expectStatus(await server.api.create(things.path(version), things.of(version, name, body)), 201).object

describe('definitions', () => {
  test('are in the discovery documents', async () => {
    const groups = listAt((await server.api.get('/apis')).object, 'groups')
    const version = { groupVersion: 'apiextensions.k8s.io/v1', version: 'v1' }
    expect(groups.find(({ name }) => name === 'apiextensions.k8s.io')?.versions).toContainEqual(version)
    expect((await server.api.get('/apis/apiextensions.k8s.io')).object).toMatchObject({ preferredVersion: version })
    const resources = listAt((await server.api.get('/apis/apiextensions.k8s.io/v1')).object, 'resources')
    expect(resources.map(({ name }) => name)).toContain('customresourcedefinitions')
  })

  test('are created and deleted, and a watch sees both and what happens to their objects', async () => {
    const things = await define(definitionOf('watched', [{ name: 'v1' }]))
    const watch = await server.api.watch(`${things.path('v1')}?watch=1`)
    const definitions = await server.api.watch(`${DEFINITIONS}?watch=1&labelSelector=test%3Dwatched`)
    try {
      await create(things, 'v1', 'one', { content: { num: 1 } })
      await create(things, 'v1', 'two', {})
      expectStatus(await server.api.patch(`${things.path('v1')}/one`, { content: { num: 2 } }), 200)
      expectStatus(await server.api.delete(`${things.path('v1')}/one`), 200)
      expectStatus(await server.api.delete(`${things.path('v1')}/two`), 200)
      const events = await watch.until(
        ({ type, object }) => type === 'DELETED' && at(object, 'metadata.name') === 'two',
      )
      const seen = events.map(({ type, object }) => `${type} ${at(object, 'metadata.name')}`)
      expect(seen).toEqual(['ADDED one', 'ADDED two', 'MODIFIED one', 'DELETED one', 'DELETED two'])
      expectStatus(await server.api.delete(`${DEFINITIONS}/${things.name}`), 200)
      const last = await definitions.until(({ type }) => type === 'DELETED')
      expect(last[0]?.type).toBe('ADDED')
    } finally {
      watch.close()
      definitions.close()
    }
    expectStatus(await server.api.get(`${DEFINITIONS}/${things.name}`), 404)
  })

  test('are listed by label and deleted as a collection', async () => {
    const labelled = (plural: string) => {
      const definition = definitionOf(plural, [{ name: 'v1' }])
      return { ...definition, metadata: { ...definition.metadata, labels: { test: 'ten' } } }
    }
    for (let i = 0; i < 10; i++) await define(labelled(`listed${i}`))
    const other = await define(definitionOf('notlisted', [{ name: 'v1' }]))
    const query = 'labelSelector=test%3Dten'
    expect(listAt((await server.api.get(`${DEFINITIONS}?${query}`)).object, 'items')).toHaveLength(10)
    expectStatus(await server.api.delete(`${DEFINITIONS}?${query}`), 200)
    await expect.poll(async () => listAt((await server.api.get(`${DEFINITIONS}?${query}`)).object, 'items')).toEqual([])
    expectStatus(await server.api.get(`${DEFINITIONS}/${other.name}`), 200)
  })

  test('have a status that is read, updated and patched', async () => {
    const { name } = await define(definitionOf('stated', [{ name: 'v1' }]))
    const status = `${DEFINITIONS}/${name}/status`
    const established = async () =>
      listAt((await server.api.get(status)).object, 'status.conditions').some(({ type }) => type === 'Established')
    await expect.poll(established).toBe(true)
    const read = expectStatus(await server.api.get(status), 200).object
    const condition = (type: string) => ({ type, status: 'True', reason: 'Tested', message: 'by a test' })
    const conditions = [...listAt(read, 'status.conditions'), condition('Updated')]
    const updated = await server.api.update(status, { ...read, status: { ...(read.status as Json), conditions } })
    expect(listAt(expectStatus(updated, 200).object, 'status.conditions')).toContainEqual(
      expect.objectContaining(condition('Updated')),
    )
    const patch = {
      metadata: { annotations: { patched: 'yes' } },
      status: { conditions: [...conditions, condition('Patched')] },
    }
    expectStatus(await server.api.patch(status, patch), 200)
    const types = listAt((await server.api.get(status)).object, 'status.conditions').map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['Established', 'Updated', 'Patched']))
  })

  test('default what is requested and what was stored before', async () => {
    const schema = (a: object, b: object) => object({ a: { ...string, ...a }, b: { ...string, ...b } })
    const versions = (a: object, b: object) =>
      definitionOf('defaulted', [{ name: 'v1', schema: schema(a, b) }]).spec.versions
    const things = await define(definitionOf('defaulted', [{ name: 'v1', schema: schema({}, {}) }]))
    expect(await create(things, 'v1', 'old', {})).not.toHaveProperty('a')
    const redefine = async (a: object, b: object) =>
      expectStatus(await server.api.patch(`${DEFINITIONS}/${things.name}`, { spec: { versions: versions(a, b) } }), 200)
    const read = async (name: string) => (await server.api.get(`${things.path('v1')}/${name}`)).object
    await redefine({ default: 'A' }, {})
    expect(await read('old')).toMatchObject({ a: 'A' })
    expect(await create(things, 'v1', 'new', {})).toMatchObject({ a: 'A' })
    await redefine({}, { default: 'B' })
    expect(await read('new')).toMatchObject({ a: 'A', b: 'B' })
    const old = await read('old')
    expect(old).toMatchObject({ b: 'B' })
    expect(old).not.toHaveProperty('a')
  })

  test('are in aggregated discovery with what they define, raw and whole', async () => {
    await define(definitionOf('found', [{ name: 'v1' }], { group: 'found.example.com' }))
    const list = expectStatus(await server.api.get('/apis', { accept: V2 }), 200)
    expect(list.headers['content-type']).toContain('as=APIGroupDiscoveryList')
    const group = listAt(list.object, 'items').find((one) => at(one, 'metadata.name') === 'found.example.com')
    expect(listAt(group, 'versions.0.resources')).toMatchObject([
      {
        resource: 'found',
        responseKind: { group: 'found.example.com', version: 'v1', kind: 'Found' },
        scope: 'Namespaced',
      },
    ])
  })
})

describe('field validation of custom resources', () => {
  const ports = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['port'],
    items: object({ port: { type: 'integer' }, name: string }, { required: ['port'] }),
  }
  const schema = object({ spec: object({ foo: string, cron: { ...string, pattern: '^(\\S+ ){4}\\S+$' }, ports }) })
  const embedded = object({
    spec: object(
      { foo: string, template: object({ spec: { type: 'object' } }, { 'x-kubernetes-embedded-resource': true }) },
      PRESERVE,
    ),
  })
  const SPEC = 'foo: foo1\n  cron: "* * * * */5"\n  ports:\n  - {port: 80, name: x}'
  const apply = (things: Defined, name: string, yaml: string) =>
    server.api.request('PATCH', `${things.path('v1')}/${name}?fieldManager=tester&fieldValidation=Strict`, {
      body: yaml,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })
  const yamlOf = (things: Defined, name: string, rest: string, metadata = '') => {
    const { apiVersion, kind } = things.of('v1', name)
    return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: ${name}\n${metadata}${rest}`
  }

  test('takes unknown fields where there is no schema', async () => {
    const things = await define(definitionOf('unchecked', [{ name: 'v1' }]))
    const answer = await apply(things, 'one', yamlOf(things, 'one', `unknown: uk1\nspec:\n  ${SPEC}`))
    expect(expectStatus(answer, 201).object).toMatchObject({ unknown: 'uk1', spec: { foo: 'foo1' } })
    const path = `${things.path('v1')}?fieldValidation=Strict`
    expectStatus(await server.api.create(path, things.of('v1', 'two', { unknown: 'uk1' })), 201)
  })

  test('takes what fits the schema, and refuses the rest by its path', async () => {
    const things = await define(definitionOf('checked', [{ name: 'v1', schema }]))
    expectStatus(await apply(things, 'one', yamlOf(things, 'one', `spec:\n  ${SPEC}`)), 201)
    const extra = await apply(things, 'one', yamlOf(things, 'one', `unknownField: unknown\nspec:\n  ${SPEC}`))
    expect(extra.status).toBeGreaterThanOrEqual(400)
    expect(extra.text).toContain('.unknownField: field not declared in schema')
    const posted = { ...things.of('v1', 'two'), unknownField: 'unknown', spec: { foo: 'foo1', bar: 1 } }
    const strict = expectStatus(await server.api.create(`${things.path('v1')}?fieldValidation=Strict`, posted), 400)
    expect(textAt(strict.object, 'message')).toContain('unknown field "spec.bar", unknown field "unknownField"')
  })

  test('finds a field given twice also where unknown ones are kept', async () => {
    const things = await define(definitionOf('doubled', [{ name: 'v1', schema: embedded }]))
    const twice = await apply(things, 'one', yamlOf(things, 'one', 'spec:\n  unknown: uk1\n  foo: foo1\n  foo: foo2'))
    expect(twice.status).toBeGreaterThanOrEqual(400)
    expect(twice.text).toMatch(/line 8: key \\"foo\\" already set in map/)
    const path = `${things.path('v1')}?fieldValidation=Strict`
    const body = `{"apiVersion":"conformance.example.com/v1","kind":"Doubled","metadata":{"name":"one"},"spec":{"foo":"1","foo":"2"}}`
    const posted = await server.api.request('POST', path, { body, headers: { 'content-type': 'application/json' } })
    expect(textAt(expectStatus(posted, 400).object, 'message')).toContain('duplicate field "spec.foo"')
  })

  test('finds unknown metadata of the object and of objects inside it', async () => {
    const things = await define(definitionOf('nested', [{ name: 'v1', schema: embedded }]))
    const inner =
      'template:\n    apiVersion: foo/v1\n    kind: Sub\n    metadata:\n      unknownSubMeta: unknown\n      name: sub'
    const outer = await apply(things, 'one', yamlOf(things, 'one', 'spec: {}', '  unknownMeta: unknown\n'))
    expect(outer.status).toBeGreaterThanOrEqual(400)
    expect(outer.text).toContain('.metadata.unknownMeta: field not declared in schema')
    const both = things.of('v1', 'two', {
      spec: { template: { apiVersion: 'foo/v1', kind: 'Sub', metadata: { name: 'sub', unknownSubMeta: 'unknown' } } },
    })
    Object.assign(both.metadata as Json, { unknownMeta: 'unknown' })
    const answer = expectStatus(await server.api.create(`${things.path('v1')}?fieldValidation=Strict`, both), 400)
    expect(textAt(answer.object, 'message')).toContain('unknown field "metadata.unknownMeta"')
    expect(textAt(answer.object, 'message')).toContain('unknown field "spec.template.metadata.unknownSubMeta"')
    const applied = await apply(things, 'three', yamlOf(things, 'three', `spec:\n  ${inner}`))
    expect(applied.status).toBeGreaterThanOrEqual(400)
    expect(applied.text).toContain('.spec.template.metadata.unknownSubMeta: field not declared in schema')
  })
})

describe('versions that a webhook converts', () => {
  let webhook: Server
  let clientConfig: object
  beforeAll(async () => {
    const day = 24 * 60 * 60 * 1000
    const validity = { notBefore: Date.now() - day, notAfter: Date.now() + day }
    const pair = issueCertificate({ commonName: 'c', usage: 'server', subjectAltNames: ['127.0.0.1'], ...validity })
    webhook = createServer(pair, async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(parts).toString())
      const convertedObjects = (asked.objects as Json[]).map((one) => converted(one, asked.desiredAPIVersion))
      const result = { status: 'Success' }
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, convertedObjects, result } }))
    })
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/crdconvert`
    clientConfig = { url, caBundle: Buffer.from(pair.cert).toString('base64') }
  })
  afterAll(() => {
    webhook?.closeAllConnections()
    webhook?.close()
  })

  /** v1 has `hostPort: "a:1"`, v2 has `host: a` and `port: "1"`. */
  function converted({ hostPort, host, port, ...rest }: Json, apiVersion: string): Json {
    if (apiVersion === rest.apiVersion) return { hostPort, host, port, ...rest }
    if (apiVersion.endsWith('/v1')) return { ...rest, apiVersion, hostPort: `${host}:${port}` }
    const [name, number] = String(hostPort).split(':')
    return { ...rest, apiVersion, host: name, port: number }
  }
  const V1: Version = { name: 'v1', schema: object({ hostPort: string }) }
  const V2_HOST: Version = { name: 'v2', schema: object({ host: string, port: string }) }
  const conversion = () => ({ strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } })
  const selectable = (version: Version, ...paths: string[]) => ({
    ...version,
    more: { selectableFields: paths.map((jsonPath) => ({ jsonPath })) },
  })
  const namesAt = async (address: string) =>
    listAt(expectStatus(await server.api.get(address), 200).object, 'items').map((one) => at(one, 'metadata.name'))

  test('are read in either', async () => {
    const things = await define(definitionOf('converted', [V1, V2_HOST], { spec: { conversion: conversion() } }))
    await create(things, 'v1', 'one', { hostPort: 'localhost:8080' })
    const read = expectStatus(await server.api.get(`${things.path('v2')}/one`), 200).object
    expect(read).toMatchObject({ apiVersion: 'conformance.example.com/v2', host: 'localhost', port: '8080' })
    expect(read).not.toHaveProperty('hostPort')
  })

  test('are listed together though stored in different ones', async () => {
    const spec = { conversion: conversion() }
    const things = await define(definitionOf('mixed', [V1, V2_HOST], { spec }))
    await create(things, 'v1', 'one', { hostPort: 'localhost:8080' })
    const { versions } = definitionOf('mixed', [V2_HOST, V1]).spec
    expectStatus(await server.api.patch(`${DEFINITIONS}/${things.name}`, { spec: { versions } }), 200)
    await create(things, 'v2', 'two', { host: 'localhost', port: '9090' })
    const items = listAt((await server.api.get(things.path('v2'))).object, 'items')
    expect(items.map(({ host, port }) => `${host}:${port}`)).toEqual(['localhost:8080', 'localhost:9090'])
    const first = listAt((await server.api.get(things.path('v1'))).object, 'items')
    expect(first.map(({ hostPort }) => hostPort)).toEqual(['localhost:8080', 'localhost:9090'])
  })

  test('are listed and watched by fields of their own', async () => {
    const versions = [selectable(V1, '.hostPort'), selectable(V2_HOST, '.host', '.port')]
    const things = await define(definitionOf('selected', versions, { spec: { conversion: conversion() } }))
    const address = (version: string, selector: string) =>
      `${things.path(version)}?fieldSelector=${encodeURIComponent(selector)}`
    const byHost = await server.api.watch(`${address('v2', 'host=host1')}&watch=1`)
    const byBoth = await server.api.watch(`${address('v2', 'host=host1,port=80')}&watch=1`)
    const first = await server.api.watch(`${address('v1', 'hostPort=host1:80')}&watch=1`)
    try {
      await create(things, 'v1', 'one', { hostPort: 'host1:80' })
      await create(things, 'v1', 'two', { hostPort: 'host1:8080' })
      await create(things, 'v2', 'three', { host: 'host2', port: '80' })
      await create(things, 'v2', 'four', { host: 'host1', port: '80' })
      expect(await namesAt(address('v2', 'host=host1'))).toEqual(['four', 'one', 'two'])
      expect(await namesAt(address('v2', 'host=host1,port=80'))).toEqual(['four', 'one'])
      expect(await namesAt(address('v1', 'hostPort=host1:80'))).toEqual(['four', 'one'])
      expect(await namesAt(address('v1', 'hostPort=host1:8080'))).toEqual(['two'])
      expectStatus(await server.api.delete(`${things.path('v2')}/one`), 200)
      expectStatus(await server.api.patch(`${things.path('v2')}/four`, { host: 'host3' }), 200)
      expect(await namesAt(address('v2', 'host=host1'))).toEqual(['two'])
      expect(await namesAt(address('v2', 'host=host1,port=80'))).toEqual([])
      const both = ['ADDED one', 'ADDED four', 'DELETED one', 'DELETED four']
      const seen = async (watch: typeof byHost, expected: string[]) => {
        const events = await watch.until(
          ({ type, object: { metadata } }) => type === 'DELETED' && (metadata as Json).name === 'four',
        )
        expect(events.map(({ type, object }) => `${type} ${at(object, 'metadata.name')}`)).toEqual(expected)
        return events
      }
      await seen(byHost, ['ADDED one', 'ADDED two', 'ADDED four', 'DELETED one', 'DELETED four'])
      await seen(byBoth, both)
      for (const { object } of await seen(first, both))
        expect(object).toMatchObject({ apiVersion: 'conformance.example.com/v1' })
    } finally {
      for (const watch of [byHost, byBoth, first]) watch.close()
    }
  })
})
