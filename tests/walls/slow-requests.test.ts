import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { expectStatus } from '../tools/use-cluster.ts'
import { HOSTILE_ADMIN_REQUESTS, HOSTILE_REQUESTS, type HostileRequest, WIDGETS } from './hostile-bodies.ts'
import { startWatchedServer, type WatchedServer } from './watched-server.ts'

/** The first request of a kind is slower: code is compiled and tables are made. */
const TRIES = 5
const LIMIT_MS = 100
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const NAMESPACE = '/api/v1/namespaces/hostile'

let server: WatchedServer
let token: string

beforeAll(async () => {
  server = await startWatchedServer()
  const { api } = server
  const exists = (path: string) => async () => (await api.get(path)).status === 200
  await api.create('/api/v1/namespaces', { metadata: { name: 'hostile' } })
  const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'hostile' }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'everything' }
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  await api.create(`${RBAC}/clusterroles`, { metadata: { name: 'everything' }, rules })
  await api.create(`${RBAC}/namespaces/hostile/rolebindings`, { metadata: { name: 'hostile' }, subjects, roleRef })
  await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGETS)
  await vi.waitUntil(exists('/apis/example.com/v1/widgets'), 30_000)
  await vi.waitUntil(exists(`${NAMESPACE}/serviceaccounts/default`), 30_000)
  const answer = expectStatus(await api.create(`${NAMESPACE}/serviceaccounts/default/token`, { spec: {} }), 201)
  token = (answer.object as { status: { token: string } }).status.token
})
afterAll(() => server?.[Symbol.asyncDispose]())

/** The least CPU time, of a few tries, for which the request kept the server from answering others. */
async function longestWorkOf(request: HostileRequest, isAdmin: boolean): Promise<number> {
  const { method, path, type = 'application/json', headers, body } = request
  const options = { headers: { 'content-type': type, ...headers }, ...(body && { body: body() }) }
  let shortest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES && shortest >= LIMIT_MS; attempt++) {
    await removeTraces(path)
    await server.longestWork()
    const answer = await (isAdmin
      ? server.api.request(method, path, options)
      : server.requestAs(token, method, path, options))
    // Controllers get to work too.
    await sleep(50)
    expect(answer.status).toBeLessThan(500)
    shortest = Math.min(shortest, await server.longestWork())
  }
  return shortest
}

/** Each try begins with the same objects. */
async function removeTraces(path: string): Promise<void> {
  const { api } = server
  const [collection] = path.split('?')
  await api.delete(`${NAMESPACE}/configmaps/victim`)
  await api.create(`${NAMESPACE}/configmaps`, { metadata: { name: 'victim' }, data: { a: 'b' } })
  for (const name of ['hostile', 'hostiles.example.org'])
    await api.delete(`${collection!.slice(0, 1000)}/${name}`, {
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    })
}

describe('no request of an ordinary user keeps the server from answering others', () => {
  it.each(HOSTILE_REQUESTS)('$title', async (request) => {
    expect(await longestWorkOf(request, false)).toBeLessThan(LIMIT_MS)
  })
})

describe('no request of an administrator keeps the server from answering others', () => {
  it.each(HOSTILE_ADMIN_REQUESTS)('$title', async (request) => {
    expect(await longestWorkOf(request, true)).toBeLessThan(LIMIT_MS)
  })
})
