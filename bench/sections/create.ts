import { etcd, load, sampan } from '../children.ts'
import type { LoadResult } from '../load-job.ts'
import { cpuDuring, median } from '../measure.ts'
import { type Section, us } from '../report.ts'

const CLIENTS = 16
const SIZE = 1_500
const WARM_UP = 3_000
const ROUNDS = 5
const PATH = '/api/v1/namespaces/default/configmaps'

interface Round {
  /** Processor time for each operation. */
  readonly cost: number
  readonly rate: number
  readonly p99: number
}

async function measured(pid: number, count: number, work: () => Promise<LoadResult>): Promise<Round> {
  const { result, cpu } = await cpuDuring(pid, work)
  return { cost: cpu / count, rate: result.operations / result.seconds, p99: result.p99 }
}

export const createSection: Section = {
  name: 'create',
  title: `Durable create of a 1.5 KB object, ${CLIENTS} clients over TLS h2; beside: etcd's own puts`,
  async run({ quick }) {
    const count = quick ? 2_000 : 10_000
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
    // Both have warmed up before they are measured, and take turns, so that what else the machine does meets both.
    await create(0, WARM_UP)
    await put(0, WARM_UP)
    const ours: Round[] = []
    const theirs: Round[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const from = WARM_UP + round * count
      ours.push(await measured(server.pid, count, () => create(from, count)))
      theirs.push(await measured(peer.pid, count, () => put(from, count)))
    }
    const [perCreate, perPut] = [median(ours.map(({ cost }) => cost)), median(theirs.map(({ cost }) => cost))]
    const rate = (rounds: readonly Round[]) => median(rounds.map((round) => round.rate))
    const p99 = (rounds: readonly Round[]) => median(rounds.map((round) => round.p99))
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
        ours: `${rate(ours).toFixed(0)}/s`,
        peer: `${rate(theirs).toFixed(0)}/s`,
        ratio: rate(ours) / rate(theirs),
        goal: '',
      },
      {
        what: 'p99',
        ours: `${p99(ours).toFixed(1)} ms`,
        peer: `${p99(theirs).toFixed(1)} ms`,
        ratio: p99(ours) / p99(theirs),
        goal: '',
      },
    ]
  },
}
