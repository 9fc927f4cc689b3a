import { Worker } from 'node:worker_threads'
import { startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import type { ResourceType } from '../../src/client/transport.ts'
import { loadCertificates } from '../../src/cluster/certificates.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import type { Section } from '../report.ts'

const OBJECTS = 500
const STREAMS = 500
const USERS = ['flood', 'single'] as const
const PATH = '/api/v1/namespaces/default/configmaps'

const type = (group: string, plural: string, namespaced: boolean): ResourceType => ({
  group,
  version: 'v1',
  plural,
  namespaced,
})
const CONFIG_MAPS = type('', 'configmaps', true)
const ROLES = type('rbac.authorization.k8s.io', 'clusterroles', false)
const BINDINGS = type('rbac.authorization.k8s.io', 'clusterrolebindings', false)

export const fairnessSection: Section = {
  name: 'fairness',
  title: `Single requests of one user while another floods with ${STREAMS} at once (p99)`,
  async run({ quick }) {
    const requests = quick ? 200 : 1000
    await using plane = await startPlane()
    const goal = 'under 200 ms'
    const alone = await single(plane, requests)
    const gets = await beside(plane, `${PATH}/object-7`, requests)
    const lists = await beside(plane, PATH, requests)
    return [
      { what: 'alone', ours: ms(alone), peer: '', goal: '' },
      { what: 'beside GETs', ours: ms(gets.p99), peer: `${gets.perSecond}/s of the flood`, goal },
      { what: `beside lists of ${OBJECTS}`, ours: ms(lists.p99), peer: `${lists.perSecond}/s of the flood`, goal },
    ]
  },
}

interface Plane {
  readonly url: string
  readonly ca: string
}

const ms = (value: number) => `${value.toFixed(1)} ms`

async function startPlane() {
  const store = await openMemoryStore()
  const server = await startApiServer({
    store,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
    authentication: { staticTokens: USERS.map((name) => ({ token: `token-of-${name}`, name })) },
    // What is measured here is what the queues do.
    rateLimit: { perSecond: 1e9, burst: 1e9, exemptGroups: [] },
  })
  const admin = server.transport({ name: 'admin', groups: ['system:masters'] })
  const roleRef = { apiGroup: BINDINGS.group, kind: 'ClusterRole', name: 'viewer' }
  const rules = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] }]
  await admin.call({ verb: 'create', resource: ROLES, body: { metadata: { name: 'viewer' }, rules } })
  const subjects = USERS.map((name) => ({ apiGroup: BINDINGS.group, kind: 'User', name }))
  await admin.call({ verb: 'create', resource: BINDINGS, body: { metadata: { name: 'viewers' }, roleRef, subjects } })
  for (let i = 0; i < OBJECTS; i++) {
    const body = { metadata: { name: `object-${i}` }, data: { text: 'x'.repeat(500) } }
    await admin.call({ verb: 'create', resource: CONFIG_MAPS, namespace: 'default', body })
  }
  const { ca, server: pair } = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, tls: { ...pair, clientCa: ca.cert } })
  return {
    url: `https://localhost:${port}`,
    ca: ca.cert,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}

/** Clients are threads of their own, so that only the server's time counts. */
const CLIENT = `
const { connect } = require('node:http2')
const { parentPort, workerData: { url, ca, token, path, streams, count } } = require('node:worker_threads')
const open = () => {
  const session = connect(url, { ca, settings: { initialWindowSize: 8 << 20 } })
  session.on('connect', () => session.setLocalWindowSize(64 << 20))
  session.on('error', () => {})
  return session
}
// A connection may have a hundred streams.
const sessions = Array.from({ length: Math.ceil(streams / 100) }, open)
let done = 0, refused = 0
const times = []
const ask = (session) => {
  if (session.destroyed || session.closed) return
  const start = performance.now()
  const stream = session.request({ ':path': path, authorization: 'Bearer ' + token })
  stream.on('response', (headers) => { if (headers[':status'] !== 200) refused++ })
  stream.on('error', () => {})
  stream.resume()
  stream.on('end', () => {
    times.push(performance.now() - start)
    if (++done === count) { for (const one of sessions) one.close(); parentPort.postMessage({ done, refused, times }) }
    else if (count === 0 || done + streams <= count) ask(session)
  })
}
parentPort.on('message', () => { parentPort.postMessage({ done, refused, times: [] }); for (const one of sessions) one.destroy(); parentPort.close() })
for (let i = 0; i < streams; i++) ask(sessions[i % sessions.length])
`

interface ClientReport {
  readonly done: number
  readonly refused: number
  readonly times: number[]
}

function client(plane: Plane, user: string, path: string, streams: number, count: number): Worker {
  const workerData = { ...plane, token: `token-of-${user}`, path, streams, count }
  return new Worker(CLIENT, { eval: true, workerData })
}

const report = (worker: Worker) =>
  new Promise<ClientReport>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })

async function single(plane: Plane, count: number): Promise<number> {
  const { times, refused } = await report(
    client({ url: plane.url, ca: plane.ca }, 'single', `${PATH}/object-1`, 1, count),
  )
  if (refused > 0) throw new Error(`${refused} of the single requests were refused`)
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
}

async function beside(plane: Plane, path: string, count: number): Promise<{ p99: number; perSecond: number }> {
  const flood = client({ url: plane.url, ca: plane.ca }, 'flood', path, STREAMS, 0)
  await systemClock.sleep(500)
  const start = systemClock.now()
  const p99 = await single(plane, count)
  flood.postMessage('stop')
  const { done } = await report(flood)
  await flood.terminate()
  return { p99, perSecond: Math.round((done * 1000) / (systemClock.now() - start + 500)) }
}
