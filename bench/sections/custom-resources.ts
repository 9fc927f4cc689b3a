import type { CustomResourceDefinition } from '../../src/api/generated/apiextensions-v1.ts'
import { checkShape } from '../../src/api/schema/check-shape.ts'
import { customRules } from '../../src/apiserver/crd/rules.ts'
import { customSchemas } from '../../src/apiserver/crd/structural-schema.ts'
import { loadRe2 } from '../../src/base/re2.ts'
import type { ApiAccess } from '../../tests/tools/api.ts'
import { at, type Json } from '../../tests/tools/json.ts'
import { type Server, sampan } from '../children.ts'
import { largeDefinition, largeObject, smallDefinition } from '../large-definition.ts'
import { cpuMicroseconds, median, pause, residentBytes } from '../measure.ts'
import { mb, ms, type Row, type Section, us } from '../report.ts'

const GROUP = 'bench.example.com'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const SHAPE = { prune: true, defaults: true }
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

export const customResourcesSection: Section = {
  name: 'custom-resources',
  title: 'Custom resources: a definition of 500 KB, the checks of an object, and many definitions',
  async run({ quick }) {
    return [...(await largeRows(quick)), await checkRow(quick), ...(await manyRows(quick))]
  },
}

/** From sending the definition until it is established, an object of it is stored and its document is served. */
async function largeRows(quick: boolean): Promise<Row[]> {
  await using server = await sampan({ store: 'memory' })
  const { api } = server.cluster
  const taken: { wall: number; cpu: number }[] = []
  for (let i = 0; i < (quick ? 3 : 7); i++) taken.push(await establish(server, i))
  const { bytes } = await api.get(`${DEFINITIONS}/workload0s.${GROUP}`)
  const row = (what: string, { wall, cpu }: { wall: number; cpu: number }) => ({
    what: `${(bytes.length / 1000).toFixed(0)} KB established and served, ${what}`,
    ours: ms(wall),
    peer: `${ms(cpu / 1000)} CPU of the server`,
    goal: 'under 300 ms',
  })
  const later = taken.slice(1)
  const middle = { wall: median(later.map((one) => one.wall)), cpu: median(later.map((one) => one.cpu)) }
  return [row('the first', taken[0]!), row('later ones', middle)]
}

async function establish({ pid, cluster: { api } }: Server, i: number): Promise<{ wall: number; cpu: number }> {
  const definition = await largeDefinition(`workload${i}s`, GROUP)
  const object = largeObject('one', `${GROUP}/v1`, definition.spec.names.kind)
  const cpu = cpuMicroseconds(pid)
  const start = performance.now()
  await expectOk(api.create(DEFINITIONS, definition))
  await established(api, definition)
  await expectOk(api.create(`/apis/${GROUP}/v1/namespaces/default/${definition.spec.names.plural}`, object))
  const document = await expectOk(api.get(`/openapi/v3/apis/${GROUP}/v1`))
  if (!document.text.includes(definition.spec.names.plural)) throw new Error('not in the document')
  return { wall: performance.now() - start, cpu: cpuMicroseconds(pid) - cpu }
}

async function established(api: ApiAccess, { metadata }: CustomResourceDefinition): Promise<void> {
  const watch = await api.watch(
    `${DEFINITIONS}?watch=1&fieldSelector=metadata.name%3D${metadata.name}&resourceVersion=0`,
  )
  const isEstablished = (condition: Json) => condition.type === 'Established' && condition.status === 'True'
  await watch.until(({ object }) => ((at(object, 'status.conditions') ?? []) as Json[]).some(isEstablished))
  watch.close()
}

async function expectOk<T extends { status: number; text: string }>(answer: Promise<T>): Promise<T> {
  const got = await answer
  if (got.status >= 300) throw new Error(`${got.status}: ${got.text.slice(0, 1000)}`)
  return got
}

/** CPU of pruning, defaulting and validating one object of the large definition, beside reading it. */
async function checkRow(quick: boolean): Promise<Row> {
  const { spec } = await largeDefinition('workloads', GROUP)
  const props = spec.versions[0]!.schema!.openAPIV3Schema!
  const schemas = customSchemas(props)
  const engines = { re2: await loadRe2(), celRules: undefined, checkRules: undefined }
  const rules = customRules(schemas.rules, () => props, engines)
  const text = JSON.stringify(largeObject('one', `${GROUP}/v1`, spec.names.kind))
  const parse = () => JSON.parse(text)
  const all = () => {
    const object = parse()
    checkShape(object, schemas.shape, SHAPE)
    if (rules.validate(object, undefined).length > 0) throw new Error('the object is not valid')
  }
  const rounds = Array.from({ length: quick ? 5 : 15 }, () => ({ parse: cpuOf(parse), all: cpuOf(all) }))
  const parsing = median(rounds.map((round) => round.parse))
  const checking = median(rounds.map((round) => round.all - round.parse))
  return {
    what: `an object of ${(text.length / 1000).toFixed(1)} KB pruned, defaulted and validated`,
    ours: us(checking),
    peer: `${us(parsing)} for JSON.parse`,
    ratio: checking / parsing,
    goal: 'at most 3',
  }
}

/** Microseconds of CPU. */
function cpuOf(work: () => void): number {
  const count = 1_000
  const start = process.cpuUsage()
  for (let i = 0; i < count; i++) work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / count
}

async function manyRows(quick: boolean): Promise<Row[]> {
  const rows: Row[] = []
  for (const count of quick ? [1_000] : [1_000, 3_000]) {
    const many = await manyDefinitions(count)
    const goal = count === 1_000 ? { memory: 'under 400 MB', cached: 'under 10 ms' } : { memory: '', cached: '' }
    const served = (what: string, { first, cached }: { first: Cost; cached: Cost }) => ({
      what: `${count}: ${what} from the cache`,
      ours: milliseconds(cached.wall),
      peer: `${milliseconds(cached.cpu)} CPU; ${milliseconds(first.cpu)} CPU after a change`,
      goal: goal.cached,
    })
    rows.push(
      {
        what: `${count}: CPU to create one, the last 500`,
        ours: us(many.lastCreate),
        peer: `${us(many.create)} early on`,
        ratio: many.lastCreate / many.create,
        goal: 'about 1',
      },
      {
        what: `${count}: memory of the server`,
        ours: mb(many.memory),
        peer: `${mb(many.restartedMemory)} after a restart`,
        goal: goal.memory,
      },
      served('discovery', many.discovery),
      served('OpenAPI v3, index', many.index),
      served('OpenAPI v3, one group', many.document),
      { what: `${count}: CPU of a restart`, ours: ms(many.restart), peer: '', goal: 'grows with the definitions' },
    )
  }
  return rows
}

const milliseconds = (value: number) => `${value.toFixed(1)} ms`

const GROUPS = 50
const groupOf = (i: number) => `group${i % GROUPS}.${GROUP}`

async function manyDefinitions(count: number) {
  await using server = await sampan()
  const { api } = server.cluster
  const create = (from: number, to: number) => createDefinitions(server, from, to)
  await create(0, 50)
  const early = await create(50, 250)
  await create(250, count - 500)
  const late = await create(count - 500, count)
  await settled(api, count)
  const costs = await documentCosts(server, count)
  await pause(3_000)
  const memory = residentBytes(server.pid)
  await server.cluster.stop()
  const again = await sampan({ folder: server.cluster.folder })
  await expectOk(again.cluster.api.get('/apis', { accept: AGGREGATED }))
  const restart = cpuMicroseconds(again.pid) / 1000
  await pause(3_000)
  const restartedMemory = residentBytes(again.pid)
  await again.cluster.stop()
  return { create: early, lastCreate: late, memory, restartedMemory, restart, ...costs }
}

/** Microseconds of the server's CPU for each. */
async function createDefinitions({ pid, cluster: { api } }: Server, from: number, to: number): Promise<number> {
  const cpu = cpuMicroseconds(pid)
  let next = from
  const client = async () => {
    while (next < to) {
      const i = next++
      await expectOk(api.create(DEFINITIONS, smallDefinition(`thing${i}s`, groupOf(i))))
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
  return (cpuMicroseconds(pid) - cpu) / (to - from)
}

/** All conditions are written. */
async function settled(api: ApiAccess, count: number): Promise<void> {
  for (;;) {
    const { text } = await expectOk(api.get(DEFINITIONS))
    if ((text.match(/"InitialNamesAccepted"/g)?.length ?? 0) >= count) return
    await pause(100)
  }
}

interface Cost {
  readonly wall: number
  readonly cpu: number
}

/** What it costs to be served a document: the first time after a change, and then from the cache. */
async function documentCosts({ pid, cluster: { api } }: Server, count: number) {
  const change = (i: number) => expectOk(api.create(DEFINITIONS, smallDefinition(`other${i}s`, groupOf(i))))
  const once = async (path: string, headers: Record<string, string>): Promise<Cost> => {
    const cpu = cpuMicroseconds(pid)
    const start = performance.now()
    await expectOk(api.get(path, headers))
    return { wall: performance.now() - start, cpu: (cpuMicroseconds(pid) - cpu) / 1000 }
  }
  const one = async (path: string, headers: Record<string, string> = {}) => {
    await change(count++)
    await pause(1_000)
    const first = await once(path, headers)
    const again: Cost[] = []
    for (let i = 0; i < 20; i++) again.push(await once(path, headers))
    const cached = { wall: median(again.map(({ wall }) => wall)), cpu: median(again.map(({ cpu }) => cpu)) }
    return { first, cached }
  }
  // Whatever is only ever made once is made before.
  await once('/openapi/v3/api/v1', {})
  await once('/openapi/v3', {})
  return {
    discovery: await one('/apis', { accept: AGGREGATED }),
    index: await one('/openapi/v3'),
    document: await one(`/openapi/v3/apis/${groupOf(count + 2)}/v1`),
  }
}
