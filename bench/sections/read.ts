import { bareServer, load, sampan } from '../children.ts'
import { cpuDuring } from '../measure.ts'
import { type Section, us } from '../report.ts'
import { servingCertificate } from '../serving-certificate.ts'

const CLIENTS = 16
const OBJECTS = 5_000
const ROUNDS = 3
const PATH = '/api/v1/namespaces/default/configmaps'

export const readSection: Section = {
  name: 'read',
  title: `GET and LIST (${OBJECTS} objects of 1.5 KB); beside: a bare node:http2 server with the same bytes ready`,
  async run({ quick }) {
    await using server = await sampan({ store: 'memory' })
    const { api } = server.cluster
    const shared = { server: api.server, credentials: api.credentials, clients: CLIENTS }
    await load({ ...shared, kind: 'create', path: PATH, from: 0, count: OBJECTS, size: 1_500 })
    const names = Array.from({ length: 200 }, (_, index) => `${PATH}/load-${index * 20}`)
    const bodies: Record<string, string> = {}
    for (const path of [PATH, ...names]) bodies[path] = (await api.get(path)).bytes.toString('base64')
    await using peer = await bareServer({ tls: { ...servingCertificate(), ca: api.credentials.ca }, bodies })
    const compare = async (what: string, paths: string[], count: number, clients: number, goal: string) => {
      const job = { kind: 'get', paths, clients } as const
      const ours = (amount: number) => load({ ...shared, ...job, count: amount })
      const credentials = { ...api.credentials, ca: servingCertificate().cert }
      const theirs = (amount: number) => load({ ...job, server: peer.address, credentials, count: amount })
      // Both have warmed up alike before they are measured, and take turns, so that noise falls on both.
      await ours(count)
      await theirs(count)
      const cpu = { ours: 0, theirs: 0 }
      for (let round = 0; round < ROUNDS; round++) {
        cpu.ours += (await cpuDuring(server.pid, () => ours(count))).cpu
        cpu.theirs += (await cpuDuring(peer.pid, () => theirs(count))).cpu
      }
      const perRequest = (total: number) => us(total / count / ROUNDS)
      return { what, ours: perRequest(cpu.ours), peer: perRequest(cpu.theirs), ratio: cpu.ours / cpu.theirs, goal }
    }
    return [
      await compare('CPU per GET', names, quick ? 2_000 : 10_000, CLIENTS, 'at most 1.4'),
      await compare('CPU per LIST', [PATH], quick ? 10 : 40, 2, 'at most 1.4'),
    ]
  },
}
