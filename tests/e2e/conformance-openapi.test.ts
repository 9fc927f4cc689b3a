import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEFINITIONS, defineKind, definitionOf, object, PRESERVE, string, type Version } from '../tools/custom-kinds.ts'
import { at, type Json } from '../tools/json.ts'
import { KUBECTL_VERSIONS, kubectlRunsHere } from '../tools/kubectl.ts'
import { type KubectlSession, kubectlSession } from '../tools/kubectl-session.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** What the conformance suite asks of the documents that describe custom resources, in our own words; see docs/conformance.md. */

const NAMESPACE = 'conformance-openapi'
const server = useCluster(NAMESPACE)
const define = (definition: ReturnType<typeof definitionOf>) => defineKind(server.api, NAMESPACE, definition)

describe('the published documents', () => {
  const FOO = object({ spec: object({ bar: { ...string, description: 'A bar.' } }, { description: 'What it is.' }) })
  const definitions = async () => at((await server.api.get('/openapi/v2')).object, 'definitions') as Json
  /** A definition without what every kind has. */
  async function published(name: string): Promise<Json | undefined> {
    const found = (await definitions())[name] as Json | undefined
    if (!found) return undefined
    const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = found.properties as Json
    const { 'x-kubernetes-group-version-kind': _g, ...rest } = found
    return { ...rest, properties }
  }

  test('have kinds of different groups', async () => {
    const one = await define(definitionOf('waldo', [{ name: 'v1', schema: FOO }], { group: 'foo.example.com' }))
    const two = await define(definitionOf('waldo', [{ name: 'v1', schema: FOO }], { group: 'bar.example.com' }))
    for (const things of [one, two]) expect(await published(things.definition('v1'))).toEqual(FOO)
    expectStatus(await server.api.delete(`${DEFINITIONS}/${two.name}`), 200)
    await expect.poll(() => published(two.definition('v1'))).toBeUndefined()
    expect(await published(one.definition('v1'))).toEqual(FOO)
  })

  test('have versions of one group, of one definition and of two', async () => {
    const both = await define(
      definitionOf('multi', [
        { name: 'v2', schema: FOO },
        { name: 'v3', schema: FOO },
      ]),
    )
    for (const version of ['v2', 'v3']) expect(await published(both.definition(version))).toEqual(FOO)
    const four = await define(definitionOf('single', [{ name: 'v4', schema: FOO }]))
    const five = await define(definitionOf('other', [{ name: 'v5', schema: FOO }]))
    expect(await published(four.definition('v4'))).toEqual(FOO)
    expect(await published(five.definition('v5'))).toEqual(FOO)
  })

  test('have different kinds of one group and version', async () => {
    const one = await define(definitionOf('grault', [{ name: 'v6', schema: FOO }]))
    const two = await define(definitionOf('garply', [{ name: 'v6', schema: FOO }]))
    for (const things of [one, two]) expect(await published(things.definition('v6'))).toEqual(FOO)
  })

  const patched = async (name: string, versions: readonly Version[]) => {
    const { spec } = definitionOf(name.split('.')[0]!, versions)
    expectStatus(await server.api.patch(`${DEFINITIONS}/${name}`, { spec: { versions: spec.versions } }), 200)
  }

  test('follow a version that is renamed', async () => {
    const schema = FOO
    const things = await define(
      definitionOf('renamed', [
        { name: 'v2', schema },
        { name: 'v3', schema },
      ]),
    )
    await patched(things.name, [
      { name: 'v2', schema },
      { name: 'v4', schema },
    ])
    expect(await published(things.definition('v4'))).toEqual(FOO)
    expect(await published(things.definition('v3'))).toBeUndefined()
    expect(await published(things.definition('v2'))).toEqual(FOO)
  })

  test('lose a version that is not served any more', async () => {
    const schema = FOO
    const things = await define(
      definitionOf('unserved', [
        { name: 'v5', schema },
        { name: 'v6alpha1', schema },
      ]),
    )
    expect(await published(things.definition('v6alpha1'))).toEqual(FOO)
    const before = await server.api.get('/openapi/v2')
    await patched(things.name, [
      { name: 'v5', schema },
      { name: 'v6alpha1', schema, served: false },
    ])
    expect(await published(things.definition('v6alpha1'))).toBeUndefined()
    expect(await published(things.definition('v5'))).toEqual(FOO)
    // Who asks with the etag of before gets the new document, and with the new one nothing.
    const etag = before.headers.etag as string
    const after = expectStatus(await server.api.get('/openapi/v2', { 'if-none-match': etag }), 200)
    expectStatus(await server.api.get('/openapi/v2', { 'if-none-match': after.headers.etag as string }), 304)
  })
})

describe.runIf(kubectlRunsHere)('custom resources by kubectl', () => {
  let kubectl: KubectlSession
  beforeAll(async () => {
    kubectl = await kubectlSession(KUBECTL_VERSIONS.at(-1)!, readFileSync(server.cluster.kubeconfig, 'utf8'))
  })
  afterAll(() => kubectl?.[Symbol.dispose]())
  const write = (one: object) => writeFileSync(path.join(kubectl.folder, 'one.json'), JSON.stringify(one))
  const bars = {
    type: 'array',
    description: 'List of Bars and their specs.',
    items: object(
      {
        name: { ...string, description: 'Name of Bar.' },
        age: { ...string, description: 'Age of Bar.' },
        feeling: { ...string, enum: ['Great', 'Down'] },
        bazs: { type: 'array', items: string, description: 'List of Bazs.' },
      },
      { required: ['name'] },
    ),
  }
  const foo = object(
    { spec: object({ bars }, { description: 'Specification of Foo' }) },
    { description: 'Foo CRD for Testing' },
  )

  test('with a schema: what fits is taken, what does not is told, all is explained', async () => {
    const things = await define(definitionOf('foos', [{ name: 'v1', schema: foo }]))
    const spec = (...list: object[]) => things.of('v1', 'test-foo', { spec: { bars: list } })
    write(spec({ name: 'test-bar' }))
    await kubectl.ok(`create -n ${NAMESPACE} -f one.json`)
    write(spec({ name: 'test-bar', age: '10' }))
    await kubectl.ok(`apply -n ${NAMESPACE} -f one.json`)
    await kubectl.ok(`delete -n ${NAMESPACE} foos test-foo`)
    const REFUSED: readonly [object, RegExp][] = [
      [spec({ name: 'test-bar', feeling: 'NonExistentValue' }), /Unsupported value: "NonExistentValue"/],
      [things.of('v1', 'test-foo', { spec: { foo: true } }), /unknown field "(spec\.)?foo"/],
      [spec({ age: '10' }), /missing required field "name"|spec\.bars\[0\]\.name: Required value/],
    ]
    for (const [one, message] of REFUSED) {
      write(one)
      for (const verb of ['create', 'apply'])
        expect(await kubectl.fails(`${verb} -n ${NAMESPACE} -f one.json`)).toMatch(message)
    }
    expect(await kubectl.ok('explain foos')).toMatch(
      /DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Specification of Foo/s,
    )
    expect(await kubectl.ok('explain foos.metadata')).toMatch(
      /DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
    )
    expect(await kubectl.ok('explain foos.spec')).toMatch(/Specification of Foo.*bars.*<\[\]Object>.*List of Bars/s)
    expect(await kubectl.ok('explain foos.spec.bars')).toMatch(
      /FIELD:.*bars.*<\[\]Object>.*List of Bars and their specs.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar/s,
    )
    expect(await kubectl.fails('explain foos.spec.bars2')).toContain('field "bars2" does not exist')
  })

  const nested = object({ spec: object({ b: string }, PRESERVE) }, { description: 'keeps what is inside for Testing' })
  test.each([
    ['without a schema', 'nothing', undefined, /DESCRIPTION:.*<empty>/s],
    [
      'that keep unknown fields at the root',
      'roots',
      object({ spec: object() }, { ...PRESERVE, description: 'all' }),
      /KIND:.*Roots/s,
    ],
    ['that keep unknown fields inside', 'insides', nested, /DESCRIPTION:.*keeps what is inside for Testing/s],
  ])('%s', async (_title, plural, schema, explained) => {
    const things = await define(definitionOf(plural, [{ name: 'v1', ...(schema && { schema }) }]))
    const unknown = plural === 'insides' ? { spec: { a: null, b: 'c' } } : { a: { b: [{ c: 'd' }] } }
    write(things.of('v1', 'test-cr', unknown))
    for (const verb of ['create', 'apply']) {
      await kubectl.ok(`${verb} -n ${NAMESPACE} -f one.json`)
      await kubectl.ok(`delete -n ${NAMESPACE} ${plural} test-cr`)
    }
    expect(await kubectl.ok(`explain ${plural}`)).toMatch(explained)
  })
})
