/** What a kubelet asks of containers, and what it tells them when they come and go. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Container, Pod } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, isReady, pod, sh, statusOf } from './conformance-node.ts'

const ALWAYS = { restartPolicy: 'Always' } as const
const OFTEN = { periodSeconds: 1, failureThreshold: 1 }
const node = (source: string, more: Partial<Container> = {}) => ({ ...sh('', more), command: ['node', '-e', source] })

/** Answers well for `seconds`, then with an error. */
const http = (seconds: number) => `
  const begun = Date.now()
  require('http').createServer((request, response) => {
    response.statusCode = Date.now() - begun < ${seconds * 1000} ? 200 : 500
    response.end(request.url)
  }).listen(8080)`
const redirecting = `require('http').createServer((request, response) => {
  if (request.url === '/') response.writeHead(302, { location: 'http://192.0.2.1/' })
  response.end()
}).listen(8080)`
const https = `
  const { execFileSync } = require('child_process')
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=x', '-keyout', '/tmp/k', '-out', '/tmp/c'])
  const { readFileSync } = require('fs')
  require('https').createServer({ key: readFileSync('/tmp/k'), cert: readFileSync('/tmp/c') }, (_, r) => r.end()).listen(8443)`
const tcp = "require('net').createServer((socket) => socket.end()).listen(8080)"
/** grpc.health.v1.Health/Check, by hand: one frame that says SERVING, or NOT_SERVING after some seconds. */
const grpc = (seconds: number) => `
  const begun = Date.now()
  require('http2').createServer().on('stream', (stream) => {
    const status = Date.now() - begun < ${seconds * 1000} ? 1 : 2
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.resume()
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]))
  }).listen(5000)`

const LONG = 10_000
const get = (path: string, port: number | string = 8080, scheme = 'HTTP') => ({ httpGet: { path, port, scheme } })

/** Those that stay well, with some time to come up. */
const WELL: [string, Container][] = [
  ['http', node(http(LONG), { livenessProbe: { ...OFTEN, ...get('/healthz'), initialDelaySeconds: 3 } })],
  [
    'named-port',
    node(http(LONG), {
      ports: [{ name: 'web', containerPort: 8080 }],
      livenessProbe: { ...OFTEN, ...get('/healthz', 'web'), initialDelaySeconds: 3 },
    }),
  ],
  ['elsewhere', node(redirecting, { livenessProbe: { ...OFTEN, ...get('/'), initialDelaySeconds: 3 } })],
  ['https', node(https, { livenessProbe: { ...OFTEN, ...get('/', 8443, 'HTTPS'), initialDelaySeconds: 5 } })],
  ['tcp', node(tcp, { livenessProbe: { ...OFTEN, tcpSocket: { port: 8080 }, initialDelaySeconds: 3 } })],
  ['grpc', node(grpc(LONG), { livenessProbe: { ...OFTEN, grpc: { port: 5000 }, initialDelaySeconds: 3 } })],
  [
    'exec',
    sh('touch /tmp/health; sleep 1000', {
      livenessProbe: { ...OFTEN, exec: { command: ['cat', '/tmp/health'] }, initialDelaySeconds: 2 },
    }),
  ],
]

/** Those that fall ill. */
const ILL: [string, Container][] = [
  ['http', node(http(5), { livenessProbe: { ...OFTEN, ...get('/healthz'), initialDelaySeconds: 3 } })],
  ['grpc', node(grpc(5), { livenessProbe: { ...OFTEN, grpc: { port: 5000 }, initialDelaySeconds: 3 } })],
  ['tcp', sh('sleep 1000', { livenessProbe: { ...OFTEN, tcpSocket: { port: 8080 }, initialDelaySeconds: 1 } })],
  [
    'exec',
    sh('touch /tmp/health; sleep 3; rm /tmp/health; sleep 1000', {
      livenessProbe: { ...OFTEN, exec: { command: ['cat', '/tmp/health'] }, initialDelaySeconds: 1 },
    }),
  ],
  [
    'slow-exec',
    sh('sleep 1000', { livenessProbe: { ...OFTEN, timeoutSeconds: 1, exec: { command: ['sleep', '100'] } } }),
  ],
  ['startup', sh('sleep 1000', { startupProbe: { ...OFTEN, failureThreshold: 2, exec: { command: ['false'] } } })],
]

const READINESS = [
  pod('late', sh('sleep 1000', { readinessProbe: { ...OFTEN, exec: { command: ['true'] }, initialDelaySeconds: 5 } }), {
    ...ALWAYS,
  }),
  pod('never', sh('sleep 1000', { readinessProbe: { ...OFTEN, exec: { command: ['false'] } } }), ALWAYS),
  pod('gated', sh('sleep 1000'), { ...ALWAYS, readinessGates: [{ conditionType: 'example.com/gate' }] }),
]

/** Keeps what it is asked for. */
const listener = pod(
  'listener',
  node(
    `const asked = []
    require('http').createServer((request, response) => {
      if (request.url === '/all') return response.end(asked.join(' '))
      asked.push(request.url)
      response.end()
    }).listen(8080)`,
    { readinessProbe: { ...OFTEN, ...get('/all') } },
  ),
  ALWAYS,
)

function hooked(address: string) {
  const call = (path: string) => ({ exec: { command: ['curl', '-s', `http://${address}:8080/${path}`] } })
  const ask = (path: string) => ({ httpGet: { host: address, port: 8080, path: `/${path}` } })
  const long = { ...ALWAYS, terminationGracePeriodSeconds: 15 }
  const trap = 'trap "exit 0" TERM; while :; do sleep 0.1; done'
  return [
    pod('hook-exec', sh(trap, { lifecycle: { postStart: call('start-exec'), preStop: call('stop-exec') } }), long),
    pod('hook-http', sh(trap, { lifecycle: { postStart: ask('start-http'), preStop: ask('stop-http') } }), long),
    pod('hook-sleep', sh(trap, { lifecycle: { preStop: { sleep: { seconds: 2 } } } }), long),
    pod('hook-fails', sh('sleep 1000', { lifecycle: { postStart: { exec: { command: ['false'] } } } }), ALWAYS),
  ]
}

asRoot('probes and hooks', () => {
  let machine: ConformanceNode
  let address: string
  let made: number
  beforeAll(async () => {
    machine = await ConformanceNode.up()
    await machine.apply(
      listener,
      ...WELL.map(([name, container]) => pod(`well-${name}`, container, ALWAYS)),
      ...ILL.map(([name, container]) => pod(`ill-${name}`, container, ALWAYS)),
      ...READINESS,
    )
    made = Date.now()
    address = (await machine.until('listener', isReady)).status?.podIP ?? ''
    await machine.apply(...hooked(address))
  }, 180_000)
  afterAll(() => machine?.[Symbol.asyncDispose](), 120_000)

  const asked = async () => (await machine.machine.must('curl', '-s', `http://${address}:8080/all`)).split(' ')

  test('hooks are called when a container starts', async () => {
    await machine.until('hook-exec', isReady)
    await machine.until('hook-http', isReady)
    expect(await asked()).toEqual(expect.arrayContaining(['/start-exec', '/start-http']))
    const failed = await machine.until('hook-fails', (one) => statusOf(one).state?.waiting?.reason !== undefined)
    expect(['PostStartHookError', 'CrashLoopBackOff']).toContain(statusOf(failed).state?.waiting?.reason)
    expect(await machine.kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}')).toContain('FailedPostStartHook')
  })

  test('hooks are called before a container is told to end', async () => {
    await machine.until('hook-sleep', isReady)
    const begun = Date.now()
    await machine.kubectl('delete', 'pod', 'hook-exec', 'hook-http', 'hook-sleep', '--timeout=30s')
    expect(Date.now() - begun).toBeGreaterThanOrEqual(2000)
    expect(await asked()).toEqual(expect.arrayContaining(['/stop-exec', '/stop-http']))
  })

  test.each(ILL.map(([name]) => name))('%s: who is ill is started again', async (name) => {
    const again = await machine.until(`ill-${name}`, (one) => (statusOf(one).restartCount ?? 0) > 0)
    expect(statusOf(again).lastState?.terminated).toBeDefined()
  })

  test('each time it is, the count grows', async () => {
    const counts: number[] = []
    const look = async (): Promise<Pod> => {
      const one = await machine.pod('ill-tcp')
      counts.push(statusOf(one).restartCount ?? 0)
      return one
    }
    await eventually(look, (one) => (statusOf(one).restartCount ?? 0) >= 2, 60)
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
  })

  test('who is not ready yet becomes so after its delay, and is never started again', async () => {
    const late = await machine.until('late', isReady)
    const started = Date.parse(statusOf(late).state?.running?.startedAt ?? '')
    const ready = Date.parse(late.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '')
    expect(ready - started).toBeGreaterThanOrEqual(4000)
    const never = await machine.pod('never')
    expect(isReady(never)).toBe(false)
    expect([statusOf(late).restartCount, statusOf(never).restartCount]).toEqual([0, 0])
  })

  test('a gate keeps a pod from being ready until somebody opens it', async () => {
    const gated = await machine.until('gated', (one) => statusOf(one).ready === true)
    expect(gated.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
    })
    const patch = JSON.stringify({ status: { conditions: [{ type: 'example.com/gate', status: 'True' }] } })
    await machine.kubectl('patch', 'pod', 'gated', '--subresource=status', '-p', patch)
    await machine.until('gated', isReady)
  })

  test.each(WELL.map(([name]) => name))('%s: who is well is left alone', async (name) => {
    await eventually(
      async () => Date.now() - made,
      (age) => age > 20_000,
    )
    const well = await machine.pod(`well-${name}`)
    expect(statusOf(well)).toMatchObject({ restartCount: 0, ready: true })
  })
})
