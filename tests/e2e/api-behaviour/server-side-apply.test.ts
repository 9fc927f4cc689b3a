import { describe, expect, test } from 'vitest'
import { at, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const NAMESPACE = 'applying'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const server = useCluster(NAMESPACE)

const apply = (path: string, manager: string, body: object, query = '') =>
  server.api.patch(`${path}?fieldManager=${manager}${query}`, body, 'apply')
const configMap = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })

describe('server-side apply', () => {
  test('creates what is missing (201), then changes it (200)', async () => {
    expectStatus(await apply(`${CONFIG_MAPS}/made`, 'a', configMap('made', { x: '1' })), 201)
    const second = expectStatus(await apply(`${CONFIG_MAPS}/made`, 'a', configMap('made', { x: '2' })), 200)
    expect(listAt(second.object, 'metadata.managedFields')).toEqual([
      {
        manager: 'a',
        operation: 'Apply',
        apiVersion: 'v1',
        time: expect.any(String),
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:x': {} } },
      },
    ])
  })

  test('an apply that changes nothing keeps the version', async () => {
    const first = await apply(`${CONFIG_MAPS}/still`, 'a', configMap('still', { x: '1' }))
    const second = expectStatus(await apply(`${CONFIG_MAPS}/still`, 'a', configMap('still', { x: '1' })), 200)
    expect(at(second.object, 'metadata.resourceVersion')).toBe(at(first.object, 'metadata.resourceVersion'))
  })

  test('conflicts name the field and its owner', async () => {
    await apply(`${CONFIG_MAPS}/fought`, 'a', configMap('fought', { x: '1', y: '1' }))
    const conflict = expectStatus(
      await apply(`${CONFIG_MAPS}/fought`, 'b', configMap('fought', { x: '2', y: '2' })),
      409,
    )
    expect(conflict.object).toMatchObject({ kind: 'Status', reason: 'Conflict', code: 409 })
    expect(textAt(conflict.object, 'message')).toBe(
      'Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\n- .data.y',
    )
    expect(listAt(conflict.object, 'details.causes')).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.data.x' },
      { reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.data.y' },
    ])
    const forced = expectStatus(
      await apply(`${CONFIG_MAPS}/fought`, 'b', configMap('fought', { x: '2' }), '&force=true'),
      200,
    )
    expect(at(forced.object, 'data')).toEqual({ x: '2', y: '1' })
  })

  test('what both want to be the same belongs to both', async () => {
    await apply(`${CONFIG_MAPS}/shared`, 'a', configMap('shared', { x: '1' }))
    expectStatus(await apply(`${CONFIG_MAPS}/shared`, 'b', configMap('shared', { x: '1' })), 200)
    const left = expectStatus(await apply(`${CONFIG_MAPS}/shared`, 'a', configMap('shared', {})), 200)
    expect(at(left.object, 'data')).toEqual({ x: '1' })
    const gone = expectStatus(await apply(`${CONFIG_MAPS}/shared`, 'b', configMap('shared', {})), 200)
    expect(at(gone.object, 'data') ?? {}).toEqual({})
  })

  test('an update owns what it changed', async () => {
    await apply(`${CONFIG_MAPS}/mixed`, 'a', configMap('mixed', { x: '1' }))
    const patch = JSON.stringify({ data: { x: '9' } })
    await server.api.request('PATCH', `${CONFIG_MAPS}/mixed?fieldManager=hand`, {
      body: patch,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    const conflict = expectStatus(await apply(`${CONFIG_MAPS}/mixed`, 'a', configMap('mixed', { x: '2' })), 409)
    expect(textAt(conflict.object, 'message')).toContain('"hand" using v1')
  })

  test('list items belong by their keys', async () => {
    const labels = { app: 'x' }
    const deployment = (containers: object[], extra: object = {}) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'lists' },
      spec: { ...extra, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    })
    expectStatus(
      await apply(`${DEPLOYMENTS}/lists`, 'a', deployment([{ name: 'one', image: '1' }], { replicas: 2 })),
      201,
    )
    const partial = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'lists' },
      spec: { template: { spec: { containers: [{ name: 'two', image: '2' }] } } },
    }
    const both = expectStatus(await apply(`${DEPLOYMENTS}/lists`, 'b', partial), 200)
    expect(listAt(both.object, 'spec.template.spec.containers').map((entry) => entry.name)).toEqual(['one', 'two'])
    const scaled = await server.api.patch(`${DEPLOYMENTS}/lists/scale?fieldManager=scaler`, { spec: { replicas: 7 } })
    expectStatus(scaled, 200)
    const conflict = await apply(
      `${DEPLOYMENTS}/lists`,
      'a',
      deployment([{ name: 'one', image: '1' }], { replicas: 2 }),
    )
    expect(textAt(expectStatus(conflict, 409).object, 'message')).toContain('.spec.replicas')
    const without = expectStatus(await apply(`${DEPLOYMENTS}/lists`, 'b', { ...partial, spec: undefined }), 200)
    expect(listAt(without.object, 'spec.template.spec.containers').map((entry) => entry.name)).toEqual(['one'])
  })

  test("managedFields are the server's", async () => {
    const body = { ...configMap('own', { x: '1' }), metadata: { name: 'own', managedFields: [] } }
    expectStatus(await apply(`${CONFIG_MAPS}/own`, 'a', body), 201)
    const filled = { ...body, metadata: { name: 'own', managedFields: [{ manager: 'x', operation: 'Apply' }] } }
    const answer = expectStatus(await apply(`${CONFIG_MAPS}/own`, 'a', filled), 400)
    expect(textAt(answer.object, 'message')).toContain('metadata.managedFields must be nil')
  })

  test('the status door has its own owners', async () => {
    const status = { conditions: [{ type: 'Available', status: 'True' }] }
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'lists' }, status }
    const applied = expectStatus(await apply(`${DEPLOYMENTS}/lists/status`, 'c', body), 200)
    const entry = listAt(applied.object, 'metadata.managedFields').find((owner) => owner.manager === 'c')
    expect(entry).toMatchObject({ subresource: 'status', operation: 'Apply' })
  })

  test('a dry run shows and writes nothing', async () => {
    const dry = await apply(`${CONFIG_MAPS}/dry`, 'a', configMap('dry', { x: '1' }), '&dryRun=All')
    expectStatus(dry, 201)
    expectStatus(await server.api.get(`${CONFIG_MAPS}/dry`), 404)
  })
})
