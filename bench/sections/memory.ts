import { load, sampan } from '../children.ts'
import { pause, residentBytes } from '../measure.ts'
import { mb, type Section } from '../report.ts'

const PATH = '/api/v1/namespaces/default/configmaps'
const SIZE = 1_500

export const memorySection: Section = {
  name: 'memory',
  title: 'Memory per stored object, as a multiple of its JSON size',
  async run({ quick }) {
    const count = quick ? 10_000 : 50_000
    await using server = await sampan()
    await pause(1_000)
    const empty = residentBytes(server.pid)
    const { api } = server.cluster
    await load({
      kind: 'create',
      server: api.server,
      credentials: api.credentials,
      clients: 16,
      path: PATH,
      from: 0,
      count,
      size: SIZE,
    })
    const json = (await api.get(`${PATH}/load-0`)).bytes.length
    await pause(5_000)
    const full = residentBytes(server.pid) - empty
    await server.cluster.stop()
    const again = await sampan({ folder: server.cluster.folder })
    await pause(2_000)
    const restarted = residentBytes(again.pid) - empty
    await again.cluster.stop()
    const row = (what: string, bytes: number) => ({
      what,
      ours: `${mb(bytes)} for ${count}`,
      peer: `${json} bytes of JSON each`,
      ratio: bytes / count / json,
      goal: 'under 3',
    })
    return [row('after the writes', full), row('after a restart', restarted)]
  },
}
