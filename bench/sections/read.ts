import { bareServer, load, sampan } from '../children.ts'
import { cpuDuring } from '../measure.ts'
import { type Section, us } from '../report.ts'
import { servingCertificate } from '../serving-certificate.ts'

const CLIENTS = 16
const OBJECTS = 5_000
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
      const ours = () => load({ ...shared, ...job, count })
      const theirs = () =>
        load({
          ...job,
          server: peer.address,
          credentials: { ...api.credentials, ca: servingCertificate().cert },
          count,
        })
      await load({ ...shared, ...job, count: Math.ceil(count / 4) })
      const a = await cpuDuring(server.pid, ours)
      const b = await cpuDuring(peer.pid, theirs)
      return { what, ours: us(a.cpu / count), peer: us(b.cpu / count), ratio: a.cpu / b.cpu, goal }
    }
    return [
      await compare('CPU per GET', names, quick ? 5_000 : 30_000, CLIENTS, 'at most 1.4'),
      await compare('CPU per LIST', [PATH], quick ? 20 : 100, 2, 'at most 1.4'),
    ]
  },
}
