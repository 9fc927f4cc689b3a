import { load, sampan } from '../children.ts'
import { cpuDuring } from '../measure.ts'
import { ms, type Row, type Section, us } from '../report.ts'

const PATH = '/api/v1/namespaces/default/configmaps'
const LISTS = 10

interface Costs {
  create: number
  list: number
  watch: number
  restart: number
}

async function costsOf(count: number): Promise<Costs> {
  await using server = await sampan()
  const { api } = server.cluster
  const shared = { server: api.server, credentials: api.credentials }
  const create = await cpuDuring(server.pid, () =>
    load({ ...shared, kind: 'create', clients: 16, path: PATH, from: 0, count, size: 1_500 }),
  )
  // As often for each size: the first ones are written from the objects, later ones of small lists from a copy that is kept.
  const list = await cpuDuring(server.pid, () =>
    load({ ...shared, kind: 'get', clients: 1, paths: [PATH], count: LISTS }),
  )
  const watch = await cpuDuring(server.pid, async () => {
    const stream = await api.watch(`${PATH}?watch=1&resourceVersion=0`)
    for (let seen = 0; seen < count; seen++) await stream.next(60_000)
    stream.close()
  })
  await server.cluster.stop()
  const started = performance.now()
  const again = await sampan({ folder: server.cluster.folder })
  const restart = performance.now() - started
  await again.cluster.stop()
  return { create: create.cpu / count, list: list.cpu / LISTS / count, watch: watch.cpu / count, restart }
}

export const growthSection: Section = {
  name: 'growth',
  title: 'Growth: cost per object with ever more ConfigMaps; beside: the smallest',
  async run({ quick }) {
    const sizes = quick ? [1_000, 5_000, 20_000] : [1_000, 10_000, 100_000]
    const rows: Row[] = []
    let first: Costs | undefined
    for (const count of sizes) {
      const costs = await costsOf(count)
      first ??= costs
      const compared = (what: 'create' | 'list' | 'watch') => ({
        what: `${count}: CPU of ${what} per object`,
        ours: us(costs[what]),
        peer: us((first as Costs)[what]),
        ratio: costs[what] / (first as Costs)[what],
        goal: 'about 1 or less',
      })
      rows.push(compared('create'), compared('list'), compared('watch'))
      rows.push({
        what: `${count}: restart`,
        ours: ms(costs.restart),
        peer: ms(first.restart),
        ratio: costs.restart / first.restart,
        goal: 'grows at most with the objects',
      })
    }
    return rows
  },
}
