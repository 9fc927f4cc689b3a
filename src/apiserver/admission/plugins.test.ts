import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { limitRangeKind } from '../../api/kinds/core/limit-range.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { priorityClassKind } from '../../api/kinds/scheduling/priority-class.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { type Client, createClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { startApiServer } from '../server.ts'

const open: AsyncDisposable[] = []
let client: Client

beforeEach(async () => {
  const store = await openMemoryStore()
  const parts = { store, clock: systemClock, random: seededRandom(1), log: silentLogger }
  const server = await startApiServer({
    ...parts,
    serviceCidrs: ['10.96.0.0/16'],
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  open.push(server, store)
  client = createClient(server.transport({ name: 'admin', groups: ['system:masters'] }, 'test'))
})
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

const createPod = (name: string) =>
  client
    .resource(podKind)
    .namespace('default')
    .create({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } })

describe('plugins that look at other objects', () => {
  it('a pod follows the default PriorityClass of the moment', async () => {
    const classes = client.resource(priorityClassKind)
    const priorities = [(await createPod('a')).spec?.priority]
    await classes.create({ metadata: { name: 'usual' }, value: 7, globalDefault: true })
    priorities.push((await createPod('b')).spec?.priority)
    await classes.delete('usual')
    priorities.push((await createPod('c')).spec?.priority)
    expect(priorities).toEqual([0, 7, 0])
  })

  it('a pod gets the resources of the LimitRange of its namespace, and the QoS class that follows', async () => {
    expect((await createPod('a')).status?.qosClass).toBe('BestEffort')
    const limits = [{ type: 'Container', default: { cpu: '1', memory: '1Gi' } }]
    await client
      .resource(limitRangeKind)
      .namespace('default')
      .create({ metadata: { name: 'l' }, spec: { limits } })
    const { spec, status } = await createPod('b')
    const amounts = { cpu: '1', memory: '1Gi' }
    expect(spec?.containers[0]?.resources).toEqual({ limits: amounts, requests: amounts })
    expect(status?.qosClass).toBe('Guaranteed')
  })
})
