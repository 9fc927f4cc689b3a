/** Hostile backends: whatever they answer, a client gets that answer or an error, and nobody else gets anything of it. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RawBytes, RecordingBackend } from './smuggling-backend.ts'
import { http2Fields, type RawTarget, sendHttp1, sendHttp2 } from './smuggling-client.ts'
import { FLUNDERS, POD, SmugglingLab } from './smuggling-lab.ts'

let lab: SmugglingLab
let admin: RawTarget
beforeAll(async () => {
  lab = await SmugglingLab.start()
  admin = { ...lab.target, ...lab.cluster.api.credentials }
})
afterAll(() => lab?.[Symbol.asyncDispose]())
beforeEach(() => {
  for (const backend of [lab.extension, lab.pod]) {
    backend.reset()
    backend.raw.clear()
  }
})

interface Place {
  /** What the client asks for, and the same as the backend sees it. */
  readonly path: string
  readonly inner: string
  readonly backend: () => RecordingBackend
}

const PLACES: readonly (readonly [string, Place])[] = [
  ['an extension API server', { path: `${FLUNDERS}/row`, inner: `${FLUNDERS}/row`, backend: () => lab.extension }],
  ['a pod', { path: `${POD}/proxy/row`, inner: '/row', backend: () => lab.pod }],
]

const get = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`
const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4)

/** Others are served with their own answers by the same connections. */
async function othersAreServed({ backend, path }: Place): Promise<void> {
  backend().raw.clear()
  const other = path.replace('/row', '/other')
  for (let i = 0; i < 3; i++) {
    const { status, text } = await lab.cluster.api.get(other)
    expect([status, text]).toEqual([
      200,
      path === FLUNDERS || backend() === lab.extension ? '{"kind":"Flunder","by":"kubernetes-admin"}' : 'pod: /other',
    ])
  }
}

const OK = 'HTTP/1.1 200 OK\r\n'

interface Row {
  readonly bytes: string
  readonly close?: boolean
  /** Status and body; `cut` if the answer breaks off after its status. */
  readonly expected: readonly [status: number, body: string | RegExp]
}

const ROWS: readonly (readonly [string, Row])[] = [
  ['an answer', { bytes: `${OK}Content-Length: 2\r\n\r\nok`, expected: [200, 'ok'] }],
  [
    'an answer in chunks',
    { bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, expected: [200, /ok/] },
  ],
  ['an answer that ends with its connection', { bytes: `${OK}\r\nok`, close: true, expected: [200, /ok/] }],
  [
    'a length and chunks',
    { bytes: `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, expected: [503, /./] },
  ],
  ['two lengths', { bytes: `${OK}Content-Length: 2\r\nContent-Length: 4\r\n\r\nokok`, expected: [503, /./] }],
  ['a length with a sign', { bytes: `${OK}Content-Length: +2\r\n\r\nok`, expected: [503, /./] }],
  ['another encoding', { bytes: `${OK}Transfer-Encoding: gzip\r\n\r\nok`, close: true, expected: [503, /./] }],
  [
    'another encoding in chunks',
    { bytes: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, expected: [503, /./] },
  ],
  ['a folded header', { bytes: `${OK}X: a\r\n b\r\nContent-Length: 2\r\n\r\nok`, expected: [503, /./] }],
  [
    'a carriage return in a header',
    { bytes: `${OK}X: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok`, expected: [503, /./] },
  ],
  ['a NUL in a header', { bytes: `${OK}X: a\0b\r\nContent-Length: 2\r\n\r\nok`, expected: [503, /./] }],
  ['a space in a name', { bytes: `${OK}X Y: a\r\nContent-Length: 2\r\n\r\nok`, expected: [503, /./] }],
  ['no HTTP', { bytes: 'SSH-2.0-OpenSSH_9.2\r\n\r\n', expected: [503, /./] }],
  ['nothing', { bytes: '', close: true, expected: [503, /./] }],
  [
    'a switch of protocols',
    { bytes: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', expected: [503, /./] },
  ],
  [
    'hints and an answer',
    { bytes: `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3)}${OK}Content-Length: 2\r\n\r\nok`, expected: [200, 'ok'] },
  ],
  ['hints without end', { bytes: 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000), expected: [503, /./] }],
  [
    'two answers',
    { bytes: `${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 6\r\n\r\nforged`, expected: [200, 'ok'] },
  ],
  [
    'an answer without a body that has one',
    { bytes: 'HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\nforged', expected: [204, ''] },
  ],
  [
    'an answer that is not new and has a body',
    { bytes: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nforged', expected: [304, ''] },
  ],
]

describe.each(PLACES)('%s answers with', (_, place) => {
  test.each(ROWS)('%s', async (_title, { bytes, close, expected: [status, body] }) => {
    const raw: RawBytes = { bytes, ...(close && { close }) }
    place.backend().raw.set(place.inner, raw)
    const answer = await sendHttp1(admin, get(place.path))
    expect(answer.statuses).toEqual([status])
    expect(bodyOf(answer.text)).toEqual(typeof body === 'string' ? body : expect.stringMatching(body))
    expect(await sendHttp2(admin, http2Fields('GET', place.path))).toBe(String(status))
    await othersAreServed(place)
  })

  test('less than it announced, and the client is not told that this is all', async () => {
    place.backend().raw.set(place.inner, { bytes: `${OK}Content-Length: 10\r\n\r\nshort`, close: true })
    const { text } = await sendHttp1(admin, get(place.path))
    expect(text).toMatch(/content-length: 10\r\n(?:.|\r\n)*short$/i)
    expect(await sendHttp2(admin, http2Fields('GET', place.path))).toMatch(/^(reset|200 cut)/)
    await othersAreServed(place)
  })

  test('headers of its connection, and such that open this server to other origins', async () => {
    const headers = [
      'Connection: keep-alive, X-Secret, Content-Length',
      'X-Secret: 1',
      'Keep-Alive: timeout=5',
      'Upgrade: h2c',
      'Proxy-Authenticate: Basic',
      'Access-Control-Allow-Origin: *',
      'Access-Control-Allow-Credentials: true',
      'X-Own: 1',
      'Content-Length: 2',
    ]
    place.backend().raw.set(place.inner, { bytes: `${OK}${headers.join('\r\n')}\r\n\r\nok` })
    const answer = await lab.cluster.api.get(place.path)
    const { ':status': _status, date: _date, 'audit-id': _audit, ...rest } = answer.headers
    const own = Object.entries(rest).filter(([name]) => !name.startsWith('x-kubernetes-pf-'))
    expect([answer.status, Object.fromEntries(own)]).toEqual([200, { 'content-length': '2', 'x-own': '1' }])
  })

  test('an answer before the request has ended, and the rest of the request goes nowhere', async () => {
    const bytes = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig'
    place.backend().raw.set(place.inner, { bytes, close: true, early: true })
    const head = `PUT ${place.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n`
    const rest = `${'x'.repeat(100)}GET ${place.path}/stolen HTTP/1.1\r\nHost: x\r\n\r\n`
    const { statuses } = await sendHttp1(admin, head, rest)
    expect(statuses).toEqual([413])
    expect(place.backend().seen.map(({ line }) => line)).toEqual([`PUT ${place.inner}`])
    await othersAreServed(place)
  })

  test.each([
    ['a success', `${OK}Content-Length: 2\r\n\r\nok`],
    ['a redirect', 'HTTP/1.1 302 Found\r\nLocation: https://other.example/\r\nContent-Length: 0\r\n\r\n'],
  ])('%s to an upgrade: neither a tunnel nor the answer', async (_title, bytes) => {
    place.backend().raw.set(place.inner, { bytes })
    const upgrade = `GET ${place.path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const { statuses, text } = await sendHttp1(admin, upgrade)
    expect(statuses).toEqual([503])
    expect(text).toContain('invalid upgrade response: status code')
    expect(text).not.toMatch(/^location:/im)
    await othersAreServed(place)
  })
})

describe('redirects', () => {
  const redirect = (location: string) => `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`

  test('of an extension API server are refused: clients would take their credentials along', async () => {
    lab.extension.raw.set(`${FLUNDERS}/row`, { bytes: redirect('https://other.example/') })
    const { status, text, headers } = await lab.cluster.api.get(`${FLUNDERS}/row`)
    expect([status, headers.location]).toEqual([502, undefined])
    expect(text).toContain('the backend attempted to redirect this request, which is not permitted')
  })

  test('of a pod lead back through the proxy, and are not followed', async () => {
    lab.pod.raw.set('/row', { bytes: redirect('/elsewhere') })
    const { status, headers } = await lab.cluster.api.get(`${POD}/proxy/row`)
    expect([status, headers.location]).toEqual([302, `${POD}/proxy/elsewhere`])
    expect(lab.pod.seen.map(({ line }) => line)).toEqual(['GET /row'])
  })
})

describe('pages of a pod', () => {
  const page = (body: Buffer, encoding = '') =>
    Buffer.concat([
      Buffer.from(`${OK}Content-Type: text/html\r\n${encoding}Content-Length: ${body.length}\r\n\r\n`),
      body,
    ])
  const GZIP = 'Content-Encoding: gzip\r\n'

  test('of a hundred thousand open tags hold nobody up', async () => {
    const tags = '<a'.repeat(100_000)
    lab.pod.raw.set('/row', { bytes: page(Buffer.from(tags)) })
    expect((await lab.cluster.api.get(`${POD}/proxy/row`)).text === tags).toBe(true)
  })

  test('that are compressed come with rewritten links, and not compressed', async () => {
    lab.pod.raw.set('/row', { bytes: page(gzipSync('<a href="/x">'), GZIP) })
    const { text, headers } = await lab.cluster.api.get(`${POD}/proxy/row`)
    expect([text, headers['content-encoding']]).toEqual([`<a href="${POD}/proxy/x">`, undefined])
  })

  test.each([
    ['inflate to hundreds of megabytes', gzipSync(Buffer.alloc(300 << 20))],
    ['are not what they say', Buffer.from('not gzip')],
  ])('that %s are broken off', async (_, body) => {
    lab.pod.raw.set('/row', { bytes: page(body, GZIP) })
    expect(await sendHttp2(admin, http2Fields('GET', `${POD}/proxy/row`))).toMatch(/^(reset|200 cut|silence)/)
    await othersAreServed(PLACES[1]![1])
  })
})

describe('addresses', () => {
  test.each([
    '0.0.0.0',
    '127.0.0.1',
    '169.254.169.254',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '224.0.0.1',
    '255.255.255.255',
  ])('a pod with the address %s is not connected to', async (podIP) => {
    const { api } = lab.cluster
    const name = `at-${Buffer.from(podIP).toString('hex')}`
    const pods = '/api/v1/namespaces/default/pods'
    const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: lab.podPort }] }]
    expect((await api.create(pods, { metadata: { name }, spec: { containers } })).status).toBe(201)
    const written = await api.patch(`${pods}/${name}/status`, { status: { podIP, podIPs: [{ ip: podIP }] } })
    const { status, text } = await api.get(`${pods}/${name}/proxy/x`)
    expect(written.status === 200 ? [status, text] : [400, 'address not allowed']).toEqual([
      400,
      expect.stringContaining('address not allowed'),
    ])
  })

  test('a Service that is only a name does not lead to the machine of the API server', async () => {
    const { api } = lab.cluster
    const name = 'v1.names.example.com'
    const services = '/api/v1/namespaces/default/services'
    for (const externalName of ['localhost', '127.0.0.1']) {
      const service = { metadata: { name: 'name' }, spec: { type: 'ExternalName', externalName } }
      expect((await api.create(services, service)).status).toBe(201)
      const spec = { group: 'names.example.com', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 }
      const reference = {
        service: { namespace: 'default', name: 'name', port: lab.podPort },
        insecureSkipTLSVerify: true,
      }
      const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
      expect((await api.create(apiServices, { metadata: { name }, spec: { ...spec, ...reference } })).status).toBe(201)
      await expect
        .poll(async () => (await api.get(`${apiServices}/${name}`)).text)
        .toMatch(/address not allowed|no endpoints available/)
      await api.delete(`${apiServices}/${name}`)
      await api.delete(`${services}/name`)
    }
  })
})
