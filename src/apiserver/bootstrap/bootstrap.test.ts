import { describe, expect, test } from 'vitest'
import type { Kind } from '../../api/kind.ts'
import { builtinKinds } from '../../api/kinds/all.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import type { Store } from '../../store/store.ts'
import { localServices } from '../aggregation/local-services.ts'
import { initialRoles } from '../authorization/policy/reconcile-roles.ts'
import { initialFlowControlObjects } from '../flow-control/keep-objects.ts'
import { validateNew } from '../registry/validation.ts'
import { startApiServer } from '../server.ts'
import { newObject } from './create-missing.ts'
import { initialObjects } from './initial-objects.ts'
import { kubernetesEndpoints } from './kubernetes-service.ts'

const kinds = [...builtinKinds]
const objects: KubernetesObject[] = [
  ...initialObjects(systemClock, ['10.96.0.0/16']),
  ...initialRoles(),
  ...initialFlowControlObjects(systemClock),
  ...localServices(kinds),
  ...kubernetesEndpoints([{ host: '192.0.2.1', port: 6443 }]),
]

function kindOf({ apiVersion, kind }: KubernetesObject): Kind {
  return kinds.find((one) => one.kind === kind && apiVersion === (one.group ? `${one.group}/` : '') + one.version)!
}

describe('the objects that skip the long way of a write', () => {
  test.each(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))('%s is valid', (_, object) => {
    const kind = kindOf(object)
    validateNew(kind, newObject({ clock: systemClock, random: seededRandom(1) }, kind, object))
  })
})

const open = (store: Store, host = '192.0.2.1', sharedStore = false) =>
  startApiServer({
    store,
    sharedStore,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
    advertise: { host, port: 6443 },
  })

const keysOf = async (store: Store) => (await store.list('/registry/')).entries

test('two servers that start at once on one store make everything once', async () => {
  const store = await openMemoryStore()
  const servers = await Promise.all([open(store, '192.0.2.1', true), open(store, '192.0.2.1', true)])
  const items = await keysOf(store)
  const wanted = objects.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`)
  const found = items.map(({ value }) => JSON.parse(value.toString()) as KubernetesObject)
  const names = found.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`)
  expect(names).toEqual(expect.arrayContaining(wanted))
  expect(new Set(names).size).toBe(names.length)
  for (const server of servers) await server[Symbol.asyncDispose]()
})

const end = async (server: AsyncDisposable) => server[Symbol.asyncDispose]()

test('a server that comes back writes nothing, but where the Service kubernetes leads if it is elsewhere', async () => {
  await using store = await openMemoryStore()
  await end(await open(store))
  const before = await store.revision()
  await end(await open(store))
  expect(await store.revision()).toBe(before)
  await end(await open(store, '192.0.2.2'))
  const changed = (await keysOf(store)).filter(({ revision }) => revision > before)
  expect(changed.map(({ key }) => key)).toEqual([
    '/registry/endpoints/default/kubernetes',
    '/registry/endpointslices.discovery.k8s.io/default/kubernetes',
  ])
})
