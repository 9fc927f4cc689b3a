import { etcd, load, sampan } from '../children.ts'
import { cpuDuring } from '../measure.ts'
import { type Section, us } from '../report.ts'

const CLIENTS = 16
const SIZE = 1_500
const PATH = '/api/v1/namespaces/default/configmaps'

export const createSection: Section = {
  name: 'create',
  title: `Durable create of a 1.5 KB object, ${CLIENTS} clients over TLS h2; beside: etcd's own puts`,
  async run({ quick }) {
    const count = quick ? 5_000 : 30_000
    await using server = await sampan()
    await using peer = await etcd()
    const { server: address, credentials } = server.cluster.api
    const create = (from: number, amount: number) =>
      load({
        kind: 'create',
        server: address,
        credentials,
        clients: CLIENTS,
        path: PATH,
        from,
        count: amount,
        size: SIZE,
      })
    const put = (from: number, amount: number) =>
      load({ kind: 'etcd-put', server: peer.address, clients: CLIENTS, from, count: amount, size: SIZE })
    // Both have warmed up before they are measured, and take turns.
    await create(0, 3_000)
    await put(0, 3_000)
    const ours = await cpuDuring(server.pid, () => create(3_000, count))
    const theirs = await cpuDuring(peer.pid, () => put(3_000, count))
    const perCreate = ours.cpu / count
    const perPut = theirs.cpu / count
    const rate = (result: { operations: number; seconds: number }) => result.operations / result.seconds
    return [
      {
        what: 'server CPU per create',
        ours: us(perCreate),
        peer: `${us(perPut)} per put`,
        ratio: perCreate / perPut,
        goal: 'at most 1.5',
      },
      {
        what: 'rate',
        ours: `${rate(ours.result).toFixed(0)}/s`,
        peer: `${rate(theirs.result).toFixed(0)}/s`,
        ratio: rate(ours.result) / rate(theirs.result),
        goal: '',
      },
      {
        what: 'p99',
        ours: `${ours.result.p99.toFixed(1)} ms`,
        peer: `${theirs.result.p99.toFixed(1)} ms`,
        ratio: ours.result.p99 / theirs.result.p99,
        goal: '',
      },
    ]
  },
}
