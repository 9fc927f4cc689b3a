import { load, sampan } from '../children.ts'
import { type Section, us } from '../report.ts'

const PATH = '/api/v1/namespaces/default/configmaps'

export const watchSection: Section = {
  name: 'watch',
  title: 'Watchers of one resource (1.5 KB objects), all in one client process',
  async run({ quick }) {
    await using server = await sampan({ store: 'memory' })
    const { api } = server.cluster
    await api.create(PATH, { metadata: { name: 'watched' }, data: { sent: '0' } })
    const job = {
      kind: 'watch',
      server: api.server,
      credentials: api.credentials,
      clients: 1,
      target: `${PATH}/watched`,
      size: 1_500,
      serverPid: server.pid,
    } as const
    const rows = []
    for (const [watchers, writesPerSecond, perConnection] of [
      [100, 100, 20],
      [1_000, 20, 20],
      [1_000, 100, 20],
      [1_000, 100, 1],
    ] as const) {
      const version = (await api.get(`${PATH}/watched`)).object.metadata as { resourceVersion: string }
      const path = `${PATH}?watch=1&resourceVersion=${version.resourceVersion}`
      const seconds = quick ? 3 : 10
      const result = await load({ ...job, path, watchers, writesPerSecond, perConnection, seconds })
      const perDelivery = (cpu = Number.NaN) => us(cpu / result.operations)
      const wanted = watchers * writesPerSecond * seconds
      rows.push({
        what: `${watchers} watchers, ${perConnection} to a connection, ${writesPerSecond} writes/s`,
        ours: `p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms, ${perDelivery(result.cpu?.server)} CPU per delivery`,
        peer: `${result.operations} of ${wanted} delivered in ${result.seconds.toFixed(1)} s, ${perDelivery(result.cpu?.client)} of the client`,
        goal: 'p99 under 100 ms, under 20 us',
      })
    }
    return rows
  },
}
