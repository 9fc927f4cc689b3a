import { describe, expect, test } from 'vitest'
import { at, type Json, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const NAMESPACE = 'listing'
const TEMPLATES = `/api/v1/namespaces/${NAMESPACE}/podtemplates`
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const server = useCluster(NAMESPACE)

const TOTAL = 40
const name = (index: number) => `template-${String(index).padStart(4, '0')}`

async function fill() {
  const template = { spec: { containers: [{ name: 'test', image: 'test2' }] } }
  await Promise.all(
    Array.from({ length: TOTAL }, (_, index) =>
      server.api.create(TEMPLATES, { metadata: { name: name(index) }, template }),
    ),
  )
}

const list = async (query: string) => expectStatus(await server.api.get(`${TEMPLATES}?${query}`), 200).object
const names = (page: Json) => listAt(page, 'items').map((item) => textAt(item, 'metadata.name'))

describe('chunked lists', () => {
  test('return everything once, in order, at one version', async () => {
    await fill()
    const seen: string[] = []
    const versions = new Set<string>()
    let token = ''
    do {
      const page = await list(`limit=17&continue=${encodeURIComponent(token)}`)
      seen.push(...names(page))
      versions.add(textAt(page, 'metadata.resourceVersion'))
      token = String(at(page, 'metadata.continue') ?? '')
      const remaining = at(page, 'metadata.remainingItemCount')
      if (token) expect(remaining).toBe(TOTAL - seen.length)
      else expect(remaining).toBeUndefined()
    } while (token)
    expect(seen).toEqual(Array.from({ length: TOTAL }, (_, index) => name(index)))
    expect(versions.size).toBe(1)
    const all = await list('limit=500')
    expect(names(all)).toEqual(seen)
  })

  test('a page shows the version of the first, whatever happened since', async () => {
    const first = await list('limit=10')
    expectStatus(await server.api.delete(`${TEMPLATES}/${name(15)}`), 200)
    const second = await list(`limit=10&continue=${encodeURIComponent(textAt(first, 'metadata.continue'))}`)
    expect(names(second)).toContain(name(15))
    expect(names(await list('limit=100'))).not.toContain(name(15))
  })

  test('remainingItemCount is left out when a selector filters', async () => {
    const page = await list('limit=5&labelSelector=!none')
    expect(at(page, 'metadata.continue')).toBeTypeOf('string')
    expect(at(page, 'metadata.remainingItemCount')).toBeUndefined()
  })

  test.each([
    ['no token at all', 'limit=5&continue=nonsense', 400],
    ['a token and a version', null, 400],
    ['a negative limit', 'limit=-1', 200],
    ['a limit that is no number', 'limit=many', 400],
  ])('%s', async (_title, query, code) => {
    const token = encodeURIComponent(textAt(await list('limit=5'), 'metadata.continue'))
    const answer = await server.api.get(`${TEMPLATES}?${query ?? `limit=5&resourceVersion=5&continue=${token}`}`)
    expectStatus(answer, code)
    if (code === 400) expect(answer.object).toMatchObject({ kind: 'Status', reason: 'BadRequest', code: 400 })
  })
})

describe('versions of a list', () => {
  test('resourceVersionMatch', async () => {
    const made = await server.api.create(CONFIG_MAPS, { metadata: { name: 'rv' } })
    const before = textAt(made.object, 'metadata.resourceVersion')
    await server.api.delete(`${CONFIG_MAPS}/rv`)
    const exact = await server.api.get(`${CONFIG_MAPS}?resourceVersion=${before}&resourceVersionMatch=Exact`)
    expectStatus(exact, 200)
    expect(at(exact.object, 'metadata.resourceVersion')).toBe(before)
    expect(names(exact.object)).toContain('rv')
    const newer = await server.api.get(`${CONFIG_MAPS}?resourceVersion=${before}&resourceVersionMatch=NotOlderThan`)
    expect(names(newer.object)).not.toContain('rv')
    for (const query of [
      'resourceVersionMatch=Exact',
      'resourceVersion=0&resourceVersionMatch=Exact',
      'resourceVersion=1&resourceVersionMatch=Sometimes',
    ]) {
      const invalid = await server.api.get(`${CONFIG_MAPS}?${query}`)
      expect([400, 422]).toContain(invalid.status)
    }
    expectStatus(await server.api.get(`${CONFIG_MAPS}?resourceVersion=abc`), 400)
  })

  test('a GET at a version', async () => {
    await server.api.create(CONFIG_MAPS, { metadata: { name: 'get-rv' } })
    expectStatus(await server.api.get(`${CONFIG_MAPS}/get-rv?resourceVersion=0`), 200)
    expectStatus(await server.api.get(`${CONFIG_MAPS}/get-rv?resourceVersion=nope`), 400)
  })
})

describe('selectors', () => {
  test.each([
    ['color=red', ['red']],
    ['color==red', ['red']],
    ['color!=red', ['blue', 'plain']],
    ['color in (red,blue)', ['blue', 'red']],
    ['color notin (red)', ['blue', 'plain']],
    ['color', ['blue', 'red']],
    ['!color', ['plain']],
    ['size>5', ['blue']],
    ['color,size', ['blue', 'red']],
    ['color=red,size>5', []],
  ])('%s', async (selector, expected) => {
    const objects = [
      { name: 'red', labels: { color: 'red', size: '3', sort: 'paint' } },
      { name: 'blue', labels: { color: 'blue', size: '8', sort: 'paint' } },
      { name: 'plain', labels: { sort: 'paint' } },
    ]
    for (const metadata of objects) await server.api.create(CONFIG_MAPS, { metadata })
    const query = encodeURIComponent(`sort=paint,${selector}`)
    expect(names((await server.api.get(`${CONFIG_MAPS}?labelSelector=${query}`)).object)).toEqual(expected)
  })
})
