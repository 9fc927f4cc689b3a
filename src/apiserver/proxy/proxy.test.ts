import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { systemClock } from '../../base/clock.ts'
import type { ResourceType } from '../../client/transport.ts'
import { loadCertificates } from '../../cluster/certificates.ts'
import { splitTarget } from './locations.ts'
import { ProxyBench } from './proxy.fixture.ts'
import { rewriteLocation } from './rewrite-location.ts'

const type = (group: string, plural: string, namespaced = true): ResourceType => ({
  group,
  version: 'v1',
  plural,
  namespaced,
})
const NODES = '/api/v1/nodes'
const PODS = '/api/v1/namespaces/default/pods'
const SERVICES = '/api/v1/namespaces/default/services'

/** So long that nobody wants to hold it. */
const LONG_PAGE = '<a href="/x">'.repeat(1024 * 1024)

let bench: ProxyBench
/** What the backend was asked. */
const asked: { line: string; headers: Record<string, unknown>; body: string }[] = []
let hanging = 0

beforeAll(async () => {
  const certificates = await loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1'] })
  bench = await ProxyBench.start(certificates, async (request, response) => {
    const { method, url = '', headers } = request
    if (url.startsWith('/hang')) {
      hanging++
      response.on('close', () => hanging--)
      response.write('begun')
      return
    }
    asked.push({ line: `${method} ${url}`, headers, body: await text(request) })
    if (url.startsWith('/redirect')) response.writeHead(302, { location: '/elsewhere?x=1' }).end()
    else if (url === '/page')
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<a href="/rewriteme">test</a>')
    else if (url === '/long-page') {
      response.writeHead(200, { 'content-type': 'text/html' }).write(LONG_PAGE)
      response.end()
    } else if (url.startsWith('/containerLogs/default/broken')) response.writeHead(500).end('the disk is gone')
    else if (url.startsWith('/containerLogs/default/absent')) response.writeHead(404).end('no such pod')
    else if (url.startsWith('/containerLogs')) response.end('a log')
    else
      response.writeHead(url.startsWith('/teapot') ? 418 : 200, { 'x-backend': 'yes', te: 'x' }).end(`you asked ${url}`)
  })
  const sockets = new WebSocketServer({ noServer: true })
  bench.backend.on('upgrade', (request, socket, head) => {
    if (request.url?.startsWith('/exec/default/web')) {
      asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: '' })
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\ncontainer not found')
      return
    }
    sockets.handleUpgrade(request, socket, head, (accepted) =>
      accepted.on('message', (data) => accepted.send(`${data}!`)),
    )
  })
  await objects()
})
afterAll(() => bench[Symbol.asyncDispose]())

async function objects(): Promise<void> {
  const nodes = bench.client.resource(type('', 'nodes', false))
  for (const name of ['node-1', 'simulated']) {
    const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }]
    await nodes.create({ metadata: { name }, status: { addresses } } as never)
  }
  const pods = bench.client.resource(type('', 'pods')).namespace('default')
  const pod = async (name: string, spec: object, podIP?: string) => {
    const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: 8080 }] }]
    const made = await pods.create({ metadata: { name }, spec: { containers, ...spec } } as never)
    if (podIP) await pods.updateStatus({ ...made, status: { podIP, podIPs: [{ ip: podIP }] } } as never)
  }
  await pod('web', { nodeName: 'node-1' }, '10.1.0.1')
  await pod('down', { nodeName: 'node-1' }, '10.9.0.1')
  await pod('local', { nodeName: 'node-1' }, '127.0.0.1')
  await pod('broken', { nodeName: 'node-1' })
  await pod('absent', { nodeName: 'node-1' })
  await pod('pending', {})
  await pod('ghost', { nodeName: 'simulated' })
  const services = bench.client.resource(type('', 'services')).namespace('default')
  const ports = [
    { name: 'http', port: 80 },
    { name: 'admin', port: 81 },
  ]
  await services.create({ metadata: { name: 'shop' }, spec: { ports } } as never)
  await services.create({ metadata: { name: 'empty' }, spec: { ports } } as never)
  await bench.client
    .resource(type('discovery.k8s.io', 'endpointslices'))
    .namespace('default')
    .create({
      metadata: { name: 'shop-1', labels: { 'kubernetes.io/service-name': 'shop' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
      endpoints: [
        { addresses: ['10.1.0.9'], conditions: { ready: false } },
        { addresses: ['10.1.0.2'], conditions: { ready: true } },
      ],
    } as never)
}

describe('whom a request goes to', () => {
  test.each<[path: string, dialed: string, line: string]>([
    [`${NODES}/node-1/proxy/metrics?x=1`, 'node node-1', 'GET /metrics?x=1'],
    [`${NODES}/node-1/proxy/`, 'node node-1', 'GET /'],
    [`${NODES}/node-1:10250/proxy/logs/`, 'node node-1', 'GET /logs/'],
    [`${NODES}/node-1:9100/proxy/metrics`, '10.0.0.1:9100', 'GET /metrics'],
    [`${PODS}/web/proxy/`, '10.1.0.1:8080', 'GET /'],
    [`${PODS}/web:99/proxy/a%2Fb/c%20d`, '10.1.0.1:99', 'GET /a%2Fb/c%20d'],
    [`${PODS}/http:web:99/proxy/x`, '10.1.0.1:99', 'GET /x'],
    [`${SERVICES}/shop:http/proxy/`, '10.1.0.2:8080', 'GET /'],
    [`${SERVICES}/shop:80/proxy/x`, '10.1.0.2:8080', 'GET /x'],
    [`${SERVICES}/http:shop:http/proxy/x`, '10.1.0.2:8080', 'GET /x'],
  ])('%s', async (path, dialed, line) => {
    const { status, headers } = await bench.fetch(path)
    expect(status).toBe(200)
    expect(headers['x-backend']).toBe('yes')
    expect(bench.dialed.at(-1)).toBe(dialed)
    expect(asked.at(-1)?.line).toBe(line)
  })

  test.each<[path: string, status: number, text: string]>([
    [`${NODES}/none/proxy/`, 404, 'nodes \\"none\\" not found'],
    [`${NODES}/simulated/proxy/metrics`, 501, 'node simulated is simulated'],
    [`${PODS}/local/proxy/`, 400, 'address not allowed'],
    [`${PODS}/pending/proxy/`, 400, 'address not allowed'],
    [`${PODS}/ftp:web:1/proxy/`, 400, 'invalid pod request \\"ftp:web:1\\"'],
    [`${PODS}/down/proxy/`, 503, 'error trying to reach service: dial tcp 10.9.0.1:8080: connect: connection refused'],
    [`${SERVICES}/none:80/proxy/`, 404, 'services \\"none\\" not found'],
    [`${SERVICES}/shop:7/proxy/`, 503, 'no service port 7 found for service \\"shop\\"'],
    [`${SERVICES}/shop:admin/proxy/`, 503, 'no endpoints available for service \\"shop:admin\\"'],
    [`${SERVICES}/empty:http/proxy/`, 503, 'no endpoints available for service \\"empty:http\\"'],
    [`${SERVICES}/a:b:c:d/proxy/`, 400, 'invalid service request'],
  ])('%s fails with %d', async (path, status, message) => {
    const answer = await bench.fetch(path)
    expect(answer.body).toContain(message)
    expect(answer.status).toBe(status)
  })

  test.each([
    ['web', { scheme: 'http', name: 'web', port: '' }],
    ['web:80', { scheme: 'http', name: 'web', port: '80' }],
    ['https:web:', { scheme: 'https', name: 'web', port: '' }],
    [':web:80', { scheme: 'http', name: 'web', port: '80' }],
    ['ftp:web:80', undefined],
    ['', undefined],
  ])('%s is split', (given, expected) => expect(splitTarget(given)).toEqual(expected))
})

describe('how it goes there', () => {
  test('with its body and method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { body } = await bench.fetch(`${PODS}/web/proxy/items`, { method, body: 'some data' })
      expect(body).toBe('you asked /items')
      expect(asked.at(-1)).toMatchObject({ line: `${method} /items`, body: 'some data' })
    }
  })

  test('with a method that no resource has', async () => {
    expect((await bench.fetch(`${PODS}/web/proxy/items`, { method: 'OPTIONS' })).body).toBe('you asked /items')
    expect(asked.at(-1)).toMatchObject({ line: 'OPTIONS /items' })
    expect((await bench.fetch(`${PODS}/web/proxy/items`, { method: 'OPTIONS', user: 'mallory' })).status).toBe(403)
    expect((await bench.fetch(`${PODS}/web`, { method: 'OPTIONS' })).status).toBe(405)
  })

  test('without what showed who sent it', async () => {
    const headers = { Authorization: '', 'X-Remote-User': 'me', 'X-Mine': 'kept', Cookie: 'a=b' }
    const { status } = await bench.fetch(`${PODS}/web/proxy/`, { headers })
    expect(status).toBe(200)
    const seen = asked.at(-1)!.headers
    expect(seen).toMatchObject({ 'x-mine': 'kept', cookie: 'a=b', 'x-forwarded-for': '127.0.0.1' })
    expect(seen['x-forwarded-uri']).toBe(`${PODS}/web/proxy/`)
    expect(seen).not.toHaveProperty('authorization')
    expect(seen).not.toHaveProperty('x-remote-user')
  })

  test('over HTTP/2 too', async () => {
    const { host, port } = bench.address
    const session = connectHttp2(`https://${host}:${port}`, bench.tlsOf())
    const stream = session.request({ ':method': 'POST', ':path': `${PODS}/web/proxy/teapot` })
    stream.end('leaves')
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(headers[':status']).toBe(418)
    expect(await text(stream)).toBe('you asked /teapot')
    expect(asked.at(-1)?.body).toBe('leaves')
    session.close()
  })

  test('and the answer leads back through here', async () => {
    const { status, headers } = await bench.fetch(`${PODS}/web/proxy/redirect`)
    expect(status).toBe(302)
    expect(headers.location).toBe(`${PODS}/web/proxy/elsewhere?x=1`)
  })

  test('a path without its last slash gets one', async () => {
    const { status, headers } = await bench.fetch(`${SERVICES}/shop:80/proxy?a=b`)
    expect([status, headers.location]).toEqual([301, `${SERVICES}/shop:80/proxy/?a=b`])
  })

  test('WebSockets go through', async () => {
    const { host, port } = bench.address
    const socket = new WebSocket(`wss://${host}:${port}${PODS}/web/proxy/chat`, bench.tlsOf())
    await once(socket, 'open')
    socket.send('hello')
    const [answer] = (await once(socket, 'message')) as [Buffer]
    expect(String(answer)).toBe('hello!')
    socket.close()
    await once(socket, 'close')
  })

  test('a client that leaves takes the backend with it', async () => {
    const { host, port } = bench.address
    const session = connectHttp2(`https://${host}:${port}`, bench.tlsOf())
    const stream = session.request({ ':path': `${PODS}/web/proxy/hang` })
    await once(stream, 'data')
    expect(hanging).toBe(1)
    session.destroy()
    while (hanging > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('only for those who may', async () => {
    const { status, body } = await bench.fetch(`${PODS}/web/proxy/`, { user: 'mallory' })
    expect(status).toBe(403)
    expect(body).toContain('User \\"mallory\\" cannot get resource \\"pods/proxy\\"')
  })
})

const place = { prefix: '/p', hosts: ['10.0.0.1:80', 'api.example'] }

test.each([
  ['/a', '/p/a'],
  ['/p/a', '/p/a'],
  ['a/b', 'a/b'],
  ['#top', '#top'],
  ['http://10.0.0.1:80/a?b', '/p/a?b'],
  ['https://api.example/a', '/p/a'],
  ['http://10.0.0.1:8080/a', 'http://10.0.0.1:8080/a'],
  ['https://elsewhere/a', 'https://elsewhere/a'],
  ['//elsewhere/a', '//elsewhere/a'],
  ['http://10.0.0.1:80', '/p/'],
])('a link to %s is seen as %s', (location, expected) => expect(rewriteLocation(location, place)).toBe(expected))

test('of a page that is very long the beginning is rewritten, and the rest goes through as it is', async () => {
  const { status, body } = await bench.fetch(`${PODS}/web/proxy/long-page`)
  const rewritten = `"${PODS}/web/proxy/x"`
  expect([status, body.indexOf('"/x"') > body.lastIndexOf(rewritten)]).toEqual([200, true])
  expect(body.replaceAll(rewritten, '"/x"') === LONG_PAGE).toBe(true)
})

test('links of pages lead back through here', async () => {
  const { body, headers } = await bench.fetch(`${PODS}/web/proxy/page`)
  expect(body).toBe(`<a href="${PODS}/web/proxy/rewriteme">test</a>`)
  expect(headers['content-length']).toBeUndefined()
})

describe('logs', () => {
  test.each<[query: string, line: string]>([
    ['', '/containerLogs/default/web/main?'],
    [
      '?follow=true&tailLines=5&timestamps=1',
      '/containerLogs/default/web/main?follow=true&timestamps=true&tailLines=5',
    ],
    ['?container=main&sinceSeconds=9&limitBytes=7', '/containerLogs/default/web/main?sinceSeconds=9&limitBytes=7'],
    ['?previous=true&follow=false', '/containerLogs/default/web/main?previous=true'],
  ])('%s', async (query, line) => {
    const { status, headers, body } = await bench.fetch(`${PODS}/web/log${query}`)
    expect([status, headers['content-type'], body]).toEqual([200, 'text/plain', 'a log'])
    expect(asked.at(-1)?.line).toBe(`GET ${line}`)
  })

  test.each<[path: string, status: number, message: string]>([
    [
      'web/log?tailLines=-1',
      422,
      'PodLogOptions \\"web\\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['web/log?limitBytes=0', 422, 'limitBytes: Invalid value: 0: must be greater than 0'],
    ['web/log?sinceSeconds=0', 422, 'sinceSeconds: Invalid value: 0: must be greater than 0'],
    [
      'web/log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z',
      422,
      'at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
    ['web/log?tailLines=x', 400, 'tailLines'],
    ['web/log?container=x', 400, 'container x is not valid for pod web'],
    ['broken/log', 500, 'the disk is gone'],
    ['absent/log', 404, 'the server could not find the requested resource ( pods/log absent)'],
    ['none/log', 404, 'pods \\"none\\" not found'],
  ])('%s is %d', async (path, status, message) => {
    const answer = await bench.fetch(`${PODS}/${path}`)
    expect(answer.body).toContain(message)
    expect(answer.status).toBe(status)
  })

  test.each(['pending', 'ghost'])('of the pod %s there are none', async (name) => {
    expect(await bench.fetch(`${PODS}/${name}/log`)).toMatchObject({ status: 200, body: '' })
  })

  const overWebSocket = async (pod: string, protocols: string[]) => {
    const { host, port } = bench.address
    const socket = new WebSocket(`wss://${host}:${port}${PODS}/${pod}/log`, protocols, bench.tlsOf())
    const received: string[] = []
    socket.on('message', (data, isBinary) => received.push(`${isBinary ? 'bytes' : 'text'} ${data}`))
    await once(socket, 'close')
    return { protocol: socket.protocol, received }
  }

  test.each<[protocols: string[], protocol: string, received: string]>([
    [[], '', 'bytes a log'],
    [['binary.k8s.io'], 'binary.k8s.io', 'bytes a log'],
    [['base64.binary.k8s.io'], 'base64.binary.k8s.io', 'text YSBsb2c='],
    [['unknown', 'binary.k8s.io'], 'binary.k8s.io', 'bytes a log'],
  ])('over a WebSocket that offers %j', async (protocols, protocol, received) => {
    expect(await overWebSocket('web', protocols)).toEqual({ protocol, received: [received] })
  })

  test('over a WebSocket: nothing of a pod that has no node, and errors as they are', async () => {
    expect((await overWebSocket('pending', ['binary.k8s.io'])).received).toEqual([])
    await expect(overWebSocket('web', ['v9.unknown'])).rejects.toThrow('403')
    await expect(overWebSocket('none', ['binary.k8s.io'])).rejects.toThrow('404')
  })
})

describe('exec', () => {
  const upgrade = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' }
  const fetch = (path: string, options = {}) =>
    bench.fetch(`${PODS}/${path}`, { method: 'POST', headers: upgrade, ...options })

  test('is asked of the kubelet in its own words, and its refusal comes back', async () => {
    const { status, body } = await fetch('web/exec?command=ls&command=-l&stdin=true&stdout=true&tty=true&stderr=false')
    expect([status, body]).toEqual([404, 'container not found'])
    expect(asked.at(-1)?.line).toBe('POST /exec/default/web/main?input=1&output=1&tty=1&command=ls&command=-l')
    expect(asked.at(-1)?.headers).toMatchObject({ 'x-stream-protocol-version': 'v4.channel.k8s.io' })
  })

  test.each<[path: string, options: object, status: number, message: string]>([
    ['web/exec?command=ls', { headers: {} }, 400, 'Upgrade request required'],
    ['web/exec?command=ls&container=x', {}, 400, 'container x is not valid for pod web'],
    ['pending/exec?command=ls', {}, 400, 'pod pending does not have a host assigned'],
    ['none/exec?command=ls', {}, 404, 'pods \\"none\\" not found'],
    ['ghost/exec?command=ls', {}, 501, 'pod ghost is on the simulated node simulated'],
    ['ghost/portforward', {}, 501, 'pod ghost is on the simulated node simulated'],
    ['web/exec', { method: 'PUT', headers: {} }, 405, 'PUT is not supported'],
    ['web/exec', { user: 'mallory' }, 403, 'cannot create resource \\"pods/exec\\"'],
  ])('%s %j is %d', async (path, options, status, message) => {
    const answer = await fetch(path, options)
    expect(answer.body).toContain(message)
    expect(answer.status).toBe(status)
  })

  test('with GET needs the right to create as well', async () => {
    const rbac = (plural: string) =>
      bench.client.resource(type('rbac.authorization.k8s.io', plural)).namespace('default')
    await rbac('roles').create({
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }],
    } as never)
    await rbac('rolebindings').create({
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
    } as never)
    const { status, body } = await fetch('web/exec?command=ls&stdout=true', { method: 'GET', user: 'reader' })
    expect(status).toBe(403)
    expect(body).toContain('User \\"reader\\" cannot create resource \\"pods/exec\\"')
  })
})
