/** Hostile clients: whatever bytes they send, servers behind the API server see whole requests with the right names. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RecordingBackend } from './smuggling-backend.ts'
import { type Fields, http2Fields, sendHttp1, sendHttp2 } from './smuggling-client.ts'
import { FLUNDERS, MALLORY, POD, SERVICE, SmugglingLab } from './smuggling-lab.ts'

let lab: SmugglingLab
beforeAll(async () => {
  lab = await SmugglingLab.start()
})
afterAll(() => lab?.[Symbol.asyncDispose]())
beforeEach(() => {
  lab.extension.reset()
  lab.pod.reset()
})

/** A request of its own, for those who take the end of a body for the beginning of the next request. */
const forged = (path: string) =>
  `GET ${path}/stolen HTTP/1.1\r\nhost: x\r\nx-remote-user: admin\r\nx-remote-group: system:masters\r\n\r\n`

interface Place {
  readonly path: string
  readonly backend: () => RecordingBackend
  /** The line of a POST as the backend sees it. */
  readonly line: string
  readonly user: string | undefined
}

const PLACES: readonly (readonly [string, Place])[] = [
  [
    'an extension API server',
    { path: FLUNDERS, backend: () => lab.extension, line: `POST ${FLUNDERS}`, user: MALLORY },
  ],
  ['a pod', { path: `${POD}/proxy/x`, backend: () => lab.pod, line: 'POST /x', user: undefined }],
  ['a Service', { path: `${SERVICE}:80/proxy/x`, backend: () => lab.pod, line: 'POST /x', user: undefined }],
]

/** What a backend saw of the client, after another client was served well through the same connections. */
async function seenBy({ backend, path }: Place): Promise<readonly (readonly [string, string | undefined, string])[]> {
  const before = backend().seen.length
  const canary = await lab.cluster.api.request('POST', path, { body: '{"canary":true}' })
  expect([canary.status, backend().malformed]).toEqual([200, 0])
  const { seen } = backend()
  const own = seen.slice(before).filter(({ body }) => body === '{"canary":true}')
  expect(own.map(({ user }) => user)).toEqual([backend() === lab.extension ? 'kubernetes-admin' : undefined])
  return seen
    .filter((one) => one !== own[0] && one.user !== 'system:kube-aggregator')
    .map(({ line, user, body }) => [line, user, body])
}

const http1 = (place: Place, headers: readonly string[], body: string, version = 'HTTP/1.1') =>
  [`POST ${place.path} ${version}`, 'Host: localhost', `Authorization: Bearer ${lab.token}`, ...headers, '', body].join(
    '\r\n',
  )

interface Http1Row {
  readonly headers: readonly string[]
  readonly body: string
  /** Undefined: closed without an answer. */
  readonly status: number | undefined
  /** The body that the backend sees; undefined if it must see nothing. */
  readonly seen?: string
  readonly version?: string
}

const REST = 'GET / HTTP/1.1\r\n\r\n'

const HTTP1: readonly (readonly [string, Http1Row])[] = [
  ['a body', { headers: ['Content-Length: 2', 'Connection: close'], body: '{}', status: 200, seen: '{}' }],
  [
    'chunks',
    {
      headers: ['Transfer-Encoding: chunked', 'Connection: close'],
      body: '2\r\n{}\r\n0\r\n\r\n',
      status: 200,
      seen: '{}',
    },
  ],
  [
    'chunks with an extension and a trailer',
    {
      headers: ['Transfer-Encoding: chunked', 'Trailer: X-Remote-User', 'Connection: close'],
      body: '2;a=b\r\n{}\r\n0\r\nX-Remote-User: admin\r\n\r\n',
      status: 200,
      seen: '{}',
    },
  ],
  ['no body at all', { headers: ['Connection: close'], body: '', status: 200, seen: '' }],
  [
    'a length and chunks',
    { headers: ['Content-Length: 4', 'Transfer-Encoding: chunked'], body: `0\r\n\r\n${REST}`, status: 400 },
  ],
  [
    'chunks and a length',
    { headers: ['Transfer-Encoding: chunked', 'Content-Length: 4'], body: `0\r\n\r\n${REST}`, status: 400 },
  ],
  ['two lengths', { headers: ['Content-Length: 2', 'Content-Length: 40'], body: `{}${REST}`, status: 400 }],
  ['the same length twice', { headers: ['Content-Length: 2', 'Content-Length: 2'], body: '{}', status: 400 }],
  ['a list of lengths', { headers: ['Content-Length: 2, 2'], body: '{}', status: 400 }],
  ['a length with a sign', { headers: ['Content-Length: +2'], body: '{}', status: 400 }],
  ['a negative length', { headers: ['Content-Length: -2'], body: '{}', status: 400 }],
  ['a hexadecimal length', { headers: ['Content-Length: 0x2'], body: '{}', status: 400 }],
  ['a length with a space', { headers: ['Content-Length: 2 2'], body: '{}', status: 400 }],
  ['a length that overflows', { headers: ['Content-Length: 18446744073709551618'], body: '{}', status: 400 }],
  ['an empty length', { headers: ['Content-Length:'], body: `{}${REST}`, status: 400 }],
  ['a space before the colon', { headers: ['Content-Length : 2'], body: '{}', status: 400 }],
  ['a space before a name', { headers: ['X: y', ' Content-Length: 2'], body: '{}', status: 400 }],
  ['a folded header', { headers: ['X: y', '\tz', 'Content-Length: 2'], body: '{}', status: 400 }],
  ['a NUL in a value', { headers: ['X: y\0z', 'Content-Length: 2'], body: '{}', status: 400 }],
  ['a NUL in a name', { headers: ['X\0: y', 'Content-Length: 2'], body: '{}', status: 400 }],
  ['a header without a colon', { headers: ['Content-Length', 'Content-Length: 2'], body: '{}', status: 400 }],
  [
    'a carriage return in a value',
    { headers: ['X: y\rContent-Length: 40', 'Content-Length: 2'], body: '{}', status: 400 },
  ],
  ['chunked in another word', { headers: ['Transfer-Encoding: xchunked'], body: `0\r\n\r\n${REST}`, status: 501 }],
  [
    'chunked and identity',
    { headers: ['Transfer-Encoding: chunked, identity'], body: `0\r\n\r\n${REST}`, status: 400 },
  ],
  [
    'identity and chunked',
    { headers: ['Transfer-Encoding: identity, chunked'], body: `0\r\n\r\n${REST}`, status: 501 },
  ],
  ['gzip and chunked', { headers: ['Transfer-Encoding: gzip, chunked'], body: '0\r\n\r\n', status: 501 }],
  [
    'chunked twice',
    { headers: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], body: '0\r\n\r\n', status: 400 },
  ],
  ['chunked after a vertical tab', { headers: ['Transfer-Encoding: \x0bchunked'], body: '0\r\n\r\n', status: 400 }],
  [
    'chunked with a space before the colon',
    { headers: ['Transfer-Encoding : chunked'], body: '0\r\n\r\n', status: 400 },
  ],
  [
    'chunks in HTTP/1.0',
    { headers: ['Transfer-Encoding: chunked'], body: '0\r\n\r\n', status: 400, version: 'HTTP/1.0' },
  ],
  ['chunks that end with a line feed', { headers: ['Transfer-Encoding: chunked'], body: '2\n{}\n0\n\n', status: 400 }],
  [
    'a chunk size with a prefix',
    { headers: ['Transfer-Encoding: chunked'], body: '0x2\r\n{}\r\n0\r\n\r\n', status: 400 },
  ],
  ['a chunk size with a sign', { headers: ['Transfer-Encoding: chunked'], body: '+2\r\n{}\r\n0\r\n\r\n', status: 400 }],
  [
    'a chunk size that overflows',
    { headers: ['Transfer-Encoding: chunked'], body: '10000000000000002\r\n{}\r\n0\r\n\r\n', status: 400 },
  ],
  [
    'a chunk longer than its size',
    { headers: ['Transfer-Encoding: chunked'], body: '2\r\n{}x\r\n0\r\n\r\n', status: 400 },
  ],
  ['two hosts', { headers: ['Host: other', 'Content-Length: 2'], body: '{}', status: 400 }],
  ['another version', { headers: ['Content-Length: 2'], body: '{}', status: 400, version: 'HTTP/1.2' }],
]

describe.each(PLACES)('HTTP/1.1 to %s:', (_, place) => {
  test.each(HTTP1)('%s', async (_title, { headers, body, status, seen, version }) => {
    const { statuses } = await sendHttp1(lab.target, http1(place, headers, body, version))
    expect(statuses).toEqual(status === undefined ? [] : [status])
    const expected = seen === undefined ? [] : [[place.line, place.user, seen]]
    // What is refused in the middle of a body may have begun there; it must not have ended.
    expect(await seenBy(place)).toEqual(expected)
  })
})

interface Http2Row {
  readonly headers: Fields
  readonly body?: readonly string[]
  readonly trailers?: Fields
  readonly leaveOpen?: boolean
  readonly outcome: string
  readonly seen?: string
}

const http2Rows = (path: string): readonly (readonly [string, Http2Row])[] => [
  ['a body', { headers: [['content-length', '2']], body: ['{}'], outcome: '200', seen: '{}' }],
  ['a body in parts, of unknown length', { headers: [], body: ['{', '}'], outcome: '200', seen: '{}' }],
  ['trailers', { headers: [], body: ['{}'], trailers: [['x-remote-user', 'admin']], outcome: '200', seen: '{}' }],
  ['an expectation', { headers: [['expect', '100-continue']], body: ['{}'], outcome: '200', seen: '{}' }],
  ['no body at all', { headers: [], outcome: '200', seen: '' }],
  [
    'a body longer than announced that never ends',
    { headers: [['content-length', '2']], body: ['{}', forged(path)], leaveOpen: true, outcome: 'reset 1' },
  ],
  [
    'a body longer than announced',
    { headers: [['content-length', '2']], body: ['{}', forged(path)], outcome: 'reset 1' },
  ],
  [
    'a body longer than announced, at once',
    { headers: [['content-length', '2']], body: [`{}${forged(path)}`], outcome: 'reset 1' },
  ],
  [
    'a body where none is announced',
    { headers: [['content-length', '0']], body: [forged(path)], leaveOpen: true, outcome: 'reset 1' },
  ],
  ['a body shorter than announced', { headers: [['content-length', '9']], body: ['{}'], outcome: 'reset 1' }],
  [
    'a body shorter than announced, with trailers',
    { headers: [['content-length', '9']], body: ['{}'], trailers: [['a', 'b']], outcome: 'reset 1' },
  ],
  ['no body where one is announced', { headers: [['content-length', '9']], outcome: 'reset 1' }],
  [
    'two lengths',
    {
      headers: [
        ['content-length', '2'],
        ['content-length', '50'],
      ],
      body: ['{}'],
      outcome: 'reset 1',
    },
  ],
  ['a length with a sign', { headers: [['content-length', '+2']], body: ['{}'], outcome: 'reset 1' }],
  [
    'transfer-encoding',
    { headers: [['transfer-encoding', 'chunked']], body: [`0\r\n\r\n${forged(path)}`], outcome: 'reset 1' },
  ],
  ['connection', { headers: [['connection', 'x-remote-user']], outcome: 'reset 1' }],
  ['upgrade', { headers: [['upgrade', 'h2c']], outcome: 'reset 1' }],
  ['a line break in a value', { headers: [['a', `b\r\n\r\n${forged(path)}`]], outcome: 'reset 1' }],
  ['a line feed in a name', { headers: [['a\nx-remote-user', 'admin']], outcome: 'reset 1' }],
  ['a colon in a name', { headers: [['x-remote-user: admin\r\na', 'b']], outcome: 'reset 1' }],
  ['upper case', { headers: [['X-Remote-User', 'admin']], outcome: 'reset 1' }],
  ['a pseudo-header after others', { headers: [[':path', `${path}/stolen`]], outcome: 'reset 1' }],
  ['another host than the authority', { headers: [['host', 'other']], outcome: 'reset 1' }],
  [
    'pseudo-headers in the trailers',
    { headers: [], body: ['{}'], trailers: [[':path', '/stolen']], outcome: 'reset 1' },
  ],
]

describe.each(PLACES)('HTTP/2 to %s:', (_, place) => {
  test.each(http2Rows(place.path))('%s', async (_title, { headers, body, trailers, leaveOpen, outcome, seen }) => {
    const fields = http2Fields('POST', place.path, [...headers.slice(0, 0), lab.bearer, ...headers])
    const options = { ...(trailers && { trailers }), ...(leaveOpen && { leaveOpen }) }
    expect(await sendHttp2(lab.target, fields, body, options)).toBe(outcome)
    expect(await seenBy(place)).toEqual(seen === undefined ? [] : [[place.line, place.user, seen]])
  })

  test.each([
    ['a space', `${place.path} HTTP/1.1`],
    ['a line break', `${place.path} HTTP/1.1\r\nx-remote-user: admin\r\n\r\n`],
    ['a fragment', `${place.path}#x`],
    ['no slash', place.path.slice(1)],
    ['another word before it', `x${place.path}`],
    ['a host', `https://other${place.path}`],
  ])('a path with %s', async (_title, path) => {
    expect(await sendHttp2(lab.target, http2Fields('POST', path, [lab.bearer]))).toBe('reset 1')
    expect(await seenBy(place)).toEqual([])
  })

  test('a method with a line break', async () => {
    const method = `POST ${place.path} HTTP/1.1\r\nx-remote-user: admin\r\n\r\nPOST`
    expect(await sendHttp2(lab.target, http2Fields(method, place.path, [lab.bearer]))).toBe('reset 1')
    expect(await seenBy(place)).toEqual([])
  })
})

describe('a GET with a body', () => {
  // Without its body on the way, the next request on the connection would be taken for it.
  test('goes to an extension API server with its body', async () => {
    const { ca, cert, key } = lab.cluster.api.credentials
    const body = forged(FLUNDERS)
    const head = `GET ${FLUNDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    const { statuses } = await sendHttp1({ ...lab.target, ca, cert, key }, head + body)
    expect(statuses).toEqual([200])
    expect(await seenBy(PLACES[0]![1])).toEqual([[`GET ${FLUNDERS}`, 'kubernetes-admin', body]])
  })
})

describe('paths that others could read differently', () => {
  test.each([
    `${FLUNDERS}/../../../../../../api/v1/secrets`,
    `${FLUNDERS}/%2e%2e/secrets`,
    `${FLUNDERS}/a/status/..%2f../../x/..`,
    '/apis/wardle.example.com/v1alpha1/namespaces//flunders',
    '/apis/wardle.example.com/v1alpha1/namespaces/default%2f/flunders',
    `${POD}/proxy/../../../../../secrets`,
    `${POD}/proxy/%2e%2e/%2e%2e/x`,
    `${SERVICE}:80/proxy/./x`,
    `${POD}/%2e%2e/web/proxy/x`,
  ])('%s is refused', async (path) => {
    const { statuses } = await sendHttp1(
      lab.target,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lab.token}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
    expect([statuses, lab.pod.seen, lab.extension.seen.filter(({ user }) => user === MALLORY)]).toEqual([[400], [], []])
  })

  test.each([
    ['in absolute form', (path: string) => `https://other.example${path}`, 'POST /x', 200],
    ['in absolute form with a user', (path: string) => `https://admin@other.example${path}`, undefined, 400],
    ['of CONNECT', () => 'other.example:443', undefined, 400],
    ['without a slash', (path: string) => path.slice(1), undefined, 400],
  ])('a target %s', async (_, targetOf, line, status) => {
    const { statuses } = await sendHttp1(
      lab.target,
      `POST ${targetOf(`${POD}/proxy/x`)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lab.token}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
    expect([statuses, lab.pod.seen.map((one) => one.line)]).toEqual([[status], line === undefined ? [] : [line]])
  })

  test.each(['CONNECT other.example:443', `CONNECT ${POD}/proxy/x`, `TRACE ${POD}/proxy/x`, 'PRI *'])(
    '%s is not served',
    async (line) => {
      const { statuses } = await sendHttp1(
        lab.target,
        `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lab.token}\r\nConnection: close\r\n\r\n`,
      )
      expect([statuses.filter((one) => one < 400), lab.pod.seen]).toEqual([[], []])
    },
  )
})

describe('headers that name users', () => {
  const NAMES = [
    'X-Remote-User',
    'x_remote_user',
    'X_Remote-User',
    'X-Remote-Group',
    'X_REMOTE_GROUP',
    'X-Remote-Uid',
    'X-Remote-Extra-Scopes',
    'X_Remote_Extra_Scopes',
    'Impersonate_User',
  ]

  test.each(PLACES)('of a client do not reach %s', async (_, place) => {
    const forgery = NAMES.flatMap((name) => [`${name}: admin`, `${name}: system:masters`])
    const { statuses } = await sendHttp1(
      lab.target,
      http1(place, [...forgery, 'Connection: close, X-Remote-User', 'Content-Length: 2'], '{}'),
    )
    expect(statuses).toEqual([200])
    const [seen] = place.backend().seen.filter(({ body }) => body === '{}')
    expect(seen?.user).toBe(place.user)
    expect(JSON.stringify(seen?.headers)).not.toMatch(/"admin|system:masters|bearer/i)
  })

  test('and tokens of WebSocket clients stay here', async () => {
    const token = Buffer.from(lab.token).toString('base64url')
    const protocols = `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}, v4.channel.k8s.io`
    const place = PLACES[1]![1]
    const { statuses } = await sendHttp1(
      lab.target,
      http1(place, [protocols, 'Connection: close', 'Content-Length: 2'], '{}'),
    )
    expect([statuses, lab.pod.seen[0]?.headers['sec-websocket-protocol']]).toEqual([[200], 'v4.channel.k8s.io'])
  })

  test('nothing of a connection is handed on', async () => {
    const place = PLACES[1]![1]
    const headers = [
      'Connection: close, X-Secret, Content-Length, Host',
      'Keep-Alive: timeout=5',
      'Proxy-Authorization: Basic abc',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'X-Secret: 1',
      'Transfer_Encoding: chunked',
      'Content_Length: 50',
      'X_Forwarded_For: 1.2.3.4',
      'Expect: 100-continue',
      'Content-Length: 2',
    ]
    const { text } = await sendHttp1(lab.target, http1(place, headers, '{}'))
    expect(text).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200/)
    expect(await seenBy(place)).toEqual([['POST /x', undefined, '{}']])
    const names = Object.keys(lab.pod.seen[0]!.headers).sort()
    expect(names).toEqual([
      'connection',
      'content-length',
      'host',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded-uri',
    ])
  })
})

describe('upgrades', () => {
  const ask = (path: string, upgrade: string, headers = '', body = '') =>
    sendHttp1(
      lab.target,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lab.token}\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n${headers}\r\n${body}`,
    )

  test.each(['h2c', 'H2C', 'websocket, h2c', 'HTTP/2.0', 'TLS/1.0'])('to %s are not handed on', async (protocol) => {
    for (const path of [FLUNDERS, `${POD}/proxy/x`]) {
      const { statuses } = await ask(path, protocol)
      expect([statuses, lab.pod.seen, lab.extension.seen.filter(({ user }) => user === MALLORY)]).toEqual([
        [400],
        [],
        [],
      ])
    }
  })

  test.each([
    ['of a length', 'Content-Length: 2\r\n', '{}'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'],
  ])('with a body %s are refused: it would be taken for the other protocol', async (_, headers, body) => {
    for (const path of [FLUNDERS, `${POD}/proxy/x`]) {
      const { statuses } = await ask(path, 'websocket', headers, body)
      expect([statuses, lab.pod.seen, lab.extension.seen.filter(({ user }) => user === MALLORY)]).toEqual([
        [400],
        [],
        [],
      ])
    }
  })

  test('that a backend refuses leave nothing open to it', async () => {
    for (const place of [PLACES[0]![1], PLACES[1]![1]]) {
      const { statuses } = await ask(place.path, 'websocket', '', forged(place.path))
      expect(statuses).toEqual([400])
      expect(await seenBy(place)).toEqual([[place.line, place.user, '']])
    }
  })
})
