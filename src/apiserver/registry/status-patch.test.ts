import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { createClient, type ResourceClient } from '../../client/client.ts'
import type { PatchType } from '../../client/transport.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, startApiServer } from '../server.ts'

const READY = { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null } as never
const STRATEGIC: PatchType = 'application/strategic-merge-patch+json'
const MERGE: PatchType = 'application/merge-patch+json'

describe('a patch of a status', () => {
  let pods: ResourceClient<Pod>
  let store: AsyncDisposable
  let server: ApiServer
  beforeAll(async () => {
    const memory = await openMemoryStore()
    store = memory
    server = await startApiServer({
      store: memory,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      serviceCidrs: ['10.96.0.0/16'],
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    pods = createClient(server.transport({ name: 'u', groups: ['system:masters'] }, 'test'))
      .resource(podKind)
      .namespace('default')
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  const create = (name: string) =>
    pods.create({
      metadata: { name, labels: { a: 'b' }, annotations: { keep: 'me' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })

  it.each<[string, PatchType, object]>([
    ['strategic', STRATEGIC, { status: { conditions: [READY] } }],
    ['merge', MERGE, { status: { conditions: [READY] } }],
    ['with a spec, which the door ignores', STRATEGIC, { spec: { nodeName: 'n' }, status: { conditions: [READY] } }],
    [
      'with labels, which the door ignores',
      MERGE,
      { metadata: { labels: { a: 'c' } }, status: { conditions: [READY] } },
    ],
  ])('changes the status and nothing else: %s', async (name, type, patch) => {
    const before = await create(`p-${name.split(' ').join('').replaceAll(',', '')}`)
    const after = await pods.patch(before.metadata.name!, patch, { subresource: 'status', type })
    expect(after.status?.conditions?.map((one) => one.type)).toEqual(['Ready'])
    expect(after.status?.phase).toBe('Pending')
    expect(after.spec).toEqual(before.spec)
    expect(Object.keys(after)).toEqual(Object.keys(before))
    const { resourceVersion: _, managedFields: __, ...meta } = before.metadata
    expect(after.metadata).toMatchObject(meta)
    expect(after.metadata.managedFields?.map((entry) => entry.subresource)).toEqual([undefined, 'status'])
  })

  it('can take annotations along', async () => {
    await create('annotated')
    const patch = { metadata: { annotations: { new: 'one' } } }
    const after = await pods.patch('annotated', patch, { subresource: 'status', type: MERGE })
    expect(after.metadata.annotations).toEqual({ keep: 'me', new: 'one' })
  })

  it('holds its sender to the version named', async () => {
    await create('versioned')
    const patch = { metadata: { resourceVersion: '1' }, status: { conditions: [READY] } }
    await expect(pods.patch('versioned', patch, { subresource: 'status', type: STRATEGIC })).rejects.toMatchObject({
      code: 409,
    })
  })

  it('is refused where a field has the wrong type', async () => {
    await create('typed')
    const patch = { status: { conditions: 'none' } }
    await expect(pods.patch('typed', patch, { subresource: 'status', type: MERGE })).rejects.toMatchObject({
      code: 400,
    })
  })
})
