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
    const requests = quick ? 300 : 1000
    await using plane = await startPlane()
    const goal = 'under 200 ms'
    const alone = await single(plane, requests)
    const gets = await beside(plane, `${PATH}/object-7`, requests)
    const lists = await beside(plane, PATH, requests)
    return [
      { what: 'alone', ours: ms(alone), peer: '', goal: '' },
      { what: 'beside GETs', ours: ms(gets.p99), peer: gets.flood, goal },
      { what: `beside lists of ${OBJECTS}`, ours: ms(lists.p99), peer: lists.flood, goal },
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
const CONNECT = `
const { connect } = require('node:http2')
const { parentPort, workerData: { url, ca, token, path, streams, count } } = require('node:worker_threads')
const open = () => {
  const session = connect(url, { ca, settings: { initialWindowSize: 8 << 20 } })
  session.on('connect', () => session.setLocalWindowSize(64 << 20))
  session.on('error', () => {})
  return session
}
const ask = (session, answered) => {
  const stream = session.request({ ':path': path, authorization: 'Bearer ' + token })
  let status = 0
  stream.on('response', (headers) => { status = headers[':status'] })
  stream.on('error', () => {})
  stream.resume()
  stream.on('end', () => answered(status))
}
`

/** As many requests at once as there are streams, each followed by the next. */
const FLOOD = `${CONNECT}
// A connection may have a hundred streams.
const sessions = Array.from({ length: Math.ceil(streams / 100) }, open)
const answers = { done: 0, refused: 0 }
const go = (session) => {
  if (session.destroyed || session.closed) return
  ask(session, (status) => {
    if (status === 200) answers.done++
    else answers.refused++
    go(session)
  })
}
parentPort.on('message', () => {
  parentPort.postMessage(answers)
  for (const session of sessions) session.destroy()
  parentPort.close()
})
for (let i = 0; i < streams; i++) go(sessions[i % sessions.length])
`

/** A request every so often, whether the last one was answered or not: who waits for answers does not see a stall. */
const SINGLE = `${CONNECT}
const EVERY_MS = 10
const session = open()
const times = []
let refused = 0, sent = 0
session.on('connect', () => {
  const started = performance.now()
  const timer = setInterval(() => {
    for (; sent < count && started + sent * EVERY_MS <= performance.now(); sent++) {
      const asked = performance.now()
      ask(session, (status) => {
        if (status !== 200) refused++
        if (times.push(performance.now() - asked) < count) return
        session.close()
        parentPort.postMessage({ times, refused })
      })
    }
    if (sent === count) clearInterval(timer)
  }, EVERY_MS)
})
`

function client(plane: Plane, script: string, user: string, path: string, size: object): Worker {
  const workerData = { url: plane.url, ca: plane.ca, token: `token-of-${user}`, path, ...size }
  return new Worker(script, { eval: true, workerData })
}

const report = <T>(worker: Worker) =>
  new Promise<T>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })

async function single(plane: Plane, count: number): Promise<number> {
  const worker = client(plane, SINGLE, 'single', `${PATH}/object-1`, { count })
  const { times, refused } = await report<{ times: number[]; refused: number }>(worker)
  if (refused > 0) throw new Error(`${refused} of the single requests were refused`)
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
}

async function beside(plane: Plane, path: string, count: number): Promise<{ p99: number; flood: string }> {
  const flood = client(plane, FLOOD, 'flood', path, { streams: STREAMS })
  await systemClock.sleep(500)
  const start = systemClock.now()
  const p99 = await single(plane, count)
  flood.postMessage('stop')
  const { done, refused } = await report<{ done: number; refused: number }>(flood)
  await flood.terminate()
  const perSecond = (answers: number) => Math.round((answers * 1000) / (systemClock.now() - start + 500))
  return { p99, flood: `${perSecond(done)}/s of the flood, ${perSecond(refused)}/s refused` }
}
