import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { cpuDuring, median, pause } from '../measure.ts'
import { type Row, type Section, us } from '../report.ts'
import { createServiceNames, type ServiceName } from './cluster-dns-names.ts'
import { type DnsServer, dnsmasq, miekgDns, sampanDns, unbound } from './cluster-dns-peers.ts'

const execute = promisify(execFile)
const MANY = 10_000
const GOALS: Readonly<Record<string, string>> = {
  dnsmasq: 'at least 1.3',
  unbound: 'at least 1.2',
}
/** As the proof of concept was measured: with names that are there. */
const GOALS_OF_NAMES: Readonly<Record<string, string>> = { ...GOALS, 'a bare Go server on miekg/dns': 'at least 4' }

export const clusterDnsSection: Section = {
  name: 'cluster-dns',
  title: `DNS, processor time a query, ${MANY} names; beside: the same names by other servers (dnsperf, 8 clients)`,
  async run({ quick }) {
    const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-dns-'))
    const servers: DnsServer[] = []
    try {
      const names = createServiceNames(quick ? MANY / 10 : MANY)
      servers.push(await sampanDns(names.length, 'batched'), await sampanDns(names.length, 'plain'))
      servers.push(await dnsmasq(folder, names), await unbound(folder, names))
      const go = await miekgDns(folder, names)
      if (go) servers.push(go)
      else console.log('no Go server beside: apt-get install golang-go golang-github-miekg-dns-dev')
      await pause(1000)
      return [
        ...(await compare(
          servers,
          queryFile(folder, 'same', names, false),
          quick,
          'names that are there',
          GOALS_OF_NAMES,
        )),
        ...(await compare(servers, queryFile(folder, 'mix', names, true), quick, 'the mix of ndots:5', GOALS)),
      ]
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** As a client with search domains asks: of five questions two find something, one has no data, two find no name. */
function queryFile(folder: string, file: string, names: readonly ServiceName[], isMix: boolean): string {
  const lines = names.flatMap(({ name, service }, i) => {
    if (!isMix) return [`${name} A`]
    const missing = `${service}.default.svc.cluster.local.default.svc.cluster.local`
    return [`${name} A`, `${names[(i * 7) % names.length]!.name} A`, `${name} AAAA`, `${missing} A`, `${missing} AAAA`]
  })
  const to = path.join(folder, file)
  writeFileSync(to, `${lines.join('\n')}\n`)
  return to
}

/** All take turns, so that what else the machine does meets all. */
async function compare(
  servers: readonly DnsServer[],
  queries: string,
  quick: boolean,
  what: string,
  goals: Readonly<Record<string, string>>,
): Promise<Row[]> {
  const costs = new Map(servers.map((server) => [server.what, [] as number[]]))
  for (const server of servers) await load(server, queries, ['-n', '1'])
  for (let round = 0; round < (quick ? 1 : 5); round++) {
    const turned = servers.map((_, i) => servers[(i + round) % servers.length]!)
    for (const server of turned) {
      const { result, cpu } = await cpuDuring(server.pid, () => load(server, queries, ['-l', quick ? '1' : '2']))
      costs.get(server.what)!.push(cpu / result)
    }
  }
  const ours = median(costs.get('ours')!)
  return servers.slice(1).map(({ what: peer }) => {
    const cost = median(costs.get(peer)!)
    return {
      what: `${what}; beside: ${peer}`,
      ours: us(ours),
      peer: us(cost),
      ratio: cost / ours,
      goal: goals[peer] ?? '',
    }
  })
}

/** How many queries were answered. */
async function load({ port }: DnsServer, queries: string, length: readonly string[]): Promise<number> {
  const { stdout } = await execute('dnsperf', [
    '-s',
    '127.0.0.1',
    '-p',
    String(port),
    '-d',
    queries,
    '-c',
    '8',
    ...length,
  ])
  const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1] ?? 0)
  const lost = Number(/Queries lost:\s+(\d+)/.exec(stdout)?.[1] ?? 0)
  if (completed === 0 || lost > completed / 100) throw new Error(`port ${port}: ${completed} answers, ${lost} lost`)
  return completed
}
