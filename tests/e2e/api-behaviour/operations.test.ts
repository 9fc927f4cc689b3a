import { describe, expect, test } from 'vitest'
import { at, type Json, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'
import { RESOURCE_CASES, type ResourceCase } from './kinds.ts'

/** The life every resource of the API has, whatever its kind: one table, one walk through all verbs. */

const NAMESPACE = 'operations'
const server = useCluster(NAMESPACE)

const groupPath = ({ group, version }: ResourceCase) => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`)
const apiVersion = ({ group, version }: ResourceCase) => (group === '' ? version : `${group}/${version}`)
const everywhere = (resource: ResourceCase) => `${groupPath(resource)}/${resource.plural}`
const inNamespace = (resource: ResourceCase) =>
  resource.namespaced ? `${groupPath(resource)}/namespaces/${NAMESPACE}/${resource.plural}` : everywhere(resource)

const tag = ({ kind, version, group }: ResourceCase) =>
  `${kind}-${version}-${group.split('.')[0] || 'core'}`.toLowerCase()
const selected = (resource: ResourceCase) => `labelSelector=test%3D${tag(resource)}`

function objectOf(resource: ResourceCase, index: number): Json {
  const name = resource.name?.(index) ?? `${resource.kind.toLowerCase()}-${resource.version}-${index}`
  return {
    apiVersion: apiVersion(resource),
    kind: resource.kind,
    metadata: { name, labels: { test: tag(resource) } },
    ...resource.body(index),
  }
}

/** Removes what may hold an object that is being deleted, as the controller in charge would. */
async function release(path: string): Promise<void> {
  const answer = await server.api.get(path)
  if (answer.status === 404) return
  expect(at(answer.object, 'metadata.deletionTimestamp')).toBeDefined()
  const patched = await server.api.patch(path, { metadata: { finalizers: null } })
  expect([200, 404]).toContain(patched.status)
}

describe.each(RESOURCE_CASES.map((entry) => [`${apiVersion(entry)} ${entry.kind}`, entry] as const))(
  '%s',
  (_title, resource) => {
    const pathOf = (index: number) => `${inNamespace(resource)}/${textAt(objectOf(resource, index), 'metadata.name')}`

    test('is in discovery', async () => {
      const list = await server.api.get(groupPath(resource))
      expectStatus(list, 200)
      const resources = listAt(list.object, 'resources')
      const found = resources.find((entry) => entry.name === resource.plural)
      expect(found).toMatchObject({ kind: resource.kind, namespaced: resource.namespaced })
      const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']
      if (!resource.keepsFinalizer) verbs.push('deletecollection')
      expect(found?.verbs).toEqual(expect.arrayContaining(verbs))
      if (resource.status) expect(resources.map(({ name }) => name)).toContain(`${resource.plural}/status`)
    })

    test('lives through all verbs', async () => {
      const empty = await server.api.get(`${inNamespace(resource)}?${selected(resource)}`)
      expectStatus(empty, 200)
      expect(empty.object).toMatchObject({ kind: `${resource.kind}List`, apiVersion: apiVersion(resource), items: [] })
      const from = textAt(empty.object, 'metadata.resourceVersion')
      const watch = await server.api.watch(
        `${everywhere(resource)}?watch=true&resourceVersion=${from}&${selected(resource)}`,
      )
      try {
        await create()
        await read()
        await change()
        if (resource.status) await changeStatus(resource.status)
        await remove()
        const events = await watch.until((event) => event.type === 'DELETED', 5_000)
        const first = textAt(objectOf(resource, 0), 'metadata.name')
        const types = events
          .filter((event) => textAt(event.object, 'metadata.name') === first)
          .map((event) => event.type)
        expect(types.slice(0, 2)).toEqual(['ADDED', 'MODIFIED'])
        expect(types.at(-1)).toBe('DELETED')
        expect(
          new Set(
            events.filter((event) => event.type === 'ADDED').map((event) => textAt(event.object, 'metadata.name')),
          ).size,
        ).toBe(3)
      } finally {
        watch.close()
      }
      if (!resource.keepsFinalizer) await removeCollection()
    })

    async function create() {
      for (const index of [0, 1, 2]) {
        const dry = await server.api.create(`${inNamespace(resource)}?dryRun=All`, objectOf(resource, index))
        expectStatus(dry, 201)
        expectStatus(await server.api.get(pathOf(index)), 404)
        const made = await server.api.create(
          `${inNamespace(resource)}?fieldValidation=Strict`,
          objectOf(resource, index),
        )
        expectStatus(made, 201)
        expect(made.object).toMatchObject({ kind: resource.kind, apiVersion: apiVersion(resource) })
        expect(at(made.object, 'metadata.uid')).toMatch(/^[0-9a-f-]{36}$/)
        expect(at(made.object, 'metadata.creationTimestamp')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        expect(at(made.object, 'metadata.resourceVersion')).toMatch(/^[1-9]\d*$/)
        expect(at(made.object, 'metadata.namespace')).toBe(resource.namespaced ? NAMESPACE : undefined)
      }
      const twice = await server.api.create(inNamespace(resource), objectOf(resource, 0))
      expectStatus(twice, 409)
      expect(twice.object).toMatchObject({
        kind: 'Status',
        reason: 'AlreadyExists',
        details: { kind: resource.plural },
      })
    }

    async function read() {
      const one = await server.api.get(pathOf(0))
      expectStatus(one, 200)
      expect(one.object).toMatchObject({ ...objectOf(resource, 0), metadata: { labels: { test: tag(resource) } } })
      for (const path of [inNamespace(resource), everywhere(resource)]) {
        const list = await server.api.get(`${path}?${selected(resource)}`)
        expectStatus(list, 200)
        expect(listAt(list.object, 'items')).toHaveLength(3)
      }
      const byName = `fieldSelector=metadata.name%3D${textAt(one.object, 'metadata.name')}`
      expect(
        listAt((await server.api.get(`${inNamespace(resource)}?${byName}&${selected(resource)}`)).object, 'items'),
      ).toHaveLength(1)
      const table = await server.api.get(`${inNamespace(resource)}?${selected(resource)}`, {
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      })
      expect(table.object).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
      expect(listAt(table.object, 'rows')).toHaveLength(3)
      expect(at(table.object, 'columnDefinitions.0.name')).toMatch(/^(Name|Last Seen)$/)
    }

    async function change() {
      const patched = await server.api.patch(pathOf(0), { metadata: { annotations: { patched: 'yes' } } })
      expectStatus(patched, 200)
      expect(at(patched.object, 'metadata.annotations.patched')).toBe('yes')
      const updated = structuredClone(patched.object)
      Object.assign(at(updated, 'metadata.annotations') as Json, { updated: 'yes' })
      const put = await server.api.update(pathOf(0), updated)
      expectStatus(put, 200)
      expect(at(put.object, 'metadata.annotations')).toMatchObject({ patched: 'yes', updated: 'yes' })
      expect(textAt(put.object, 'metadata.uid')).toBe(textAt(patched.object, 'metadata.uid'))
      expect(Number(at(put.object, 'metadata.resourceVersion'))).toBeGreaterThan(
        Number(at(patched.object, 'metadata.resourceVersion')),
      )
      Object.assign(at(updated, 'metadata.annotations') as Json, { updated: 'too late' })
      const stale = await server.api.update(pathOf(0), updated)
      expectStatus(stale, 409)
      expect(stale.object).toMatchObject({ kind: 'Status', reason: 'Conflict' })
      const jsonPatch = [{ op: 'replace', path: '/metadata/annotations/updated', value: 'json' }]
      const byJson = await server.api.patch(pathOf(0), jsonPatch, 'json')
      expectStatus(byJson, 200)
      const applied = await server.api.patch(
        `${pathOf(0)}?fieldManager=tester&force=true`,
        { apiVersion: apiVersion(resource), kind: resource.kind, metadata: { annotations: { applied: 'yes' } } },
        'apply',
      )
      expectStatus(applied, 200)
      expect(at(applied.object, 'metadata.annotations')).toEqual(
        expect.objectContaining({ applied: 'yes', updated: 'json' }),
      )
      expect(listAt(applied.object, 'metadata.managedFields').map((entry) => entry.operation)).toContain('Apply')
    }

    async function changeStatus(status: Json) {
      const before = await server.api.get(`${pathOf(0)}/status`)
      expectStatus(before, 200)
      const patched = await server.api.patch(`${pathOf(0)}/status`, {
        metadata: { annotations: { status: 'yes' } },
        status,
      })
      expectStatus(patched, 200)
      expect(at(patched.object, 'status')).toMatchObject(status)
      expect(at(patched.object, 'metadata.annotations.status')).toBe('yes')
      expect(at(patched.object, 'spec')).toEqual(at(before.object, 'spec'))
      const put = await server.api.update(`${pathOf(0)}/status`, patched.object)
      expectStatus(put, 200)
      expect(at(put.object, 'status')).toMatchObject(status)
      const ignored = await server.api.patch(pathOf(0), { status: null })
      expectStatus(ignored, 200)
      expect(at(ignored.object, 'status')).toMatchObject(status)
    }

    async function remove() {
      const background = {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        propagationPolicy: 'Background',
        gracePeriodSeconds: 0,
      }
      const wrongUid = { ...background, preconditions: { uid: '00000000-0000-4000-8000-000000000000' } }
      expectStatus(await server.api.delete(pathOf(0), wrongUid), 409)
      const gone = await server.api.delete(pathOf(0), background)
      expect([200, 202]).toContain(gone.status)
      if (resource.keepsFinalizer) await finalize()
      else await release(pathOf(0))
      const missing = await server.api.get(pathOf(0))
      expectStatus(missing, 404)
      expect(missing.object).toMatchObject({
        kind: 'Status',
        reason: 'NotFound',
        code: 404,
        details: { kind: resource.plural },
      })
    }

    /** What the namespace controller does at the end; it may have been quicker. */
    async function finalize() {
      const terminating = await server.api.get(pathOf(0))
      if (terminating.status === 404) return
      expect(at(terminating.object, 'status.phase')).toBe('Terminating')
      const body = { ...terminating.object, spec: { finalizers: [] } }
      expect([200, 404, 409]).toContain((await server.api.update(`${pathOf(0)}/finalize`, body)).status)
    }

    async function removeCollection() {
      const path = `${inNamespace(resource)}?${selected(resource)}&propagationPolicy=Background&gracePeriodSeconds=0`
      expectStatus(await server.api.delete(path), 200)
      for (const index of [1, 2]) await release(pathOf(index))
      const left = await server.api.get(`${inNamespace(resource)}?${selected(resource)}`)
      expect(listAt(left.object, 'items')).toEqual([])
    }
  },
)
