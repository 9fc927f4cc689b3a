/** The kubelet's port: hostile clients at the port itself, and through `nodes/proxy`. The node is one of this process. */
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../src/api/generated/core-v1.ts'
import type { KeyPair } from '../../src/cluster/x509/certificate.ts'
import { type StreamingNode, startStreamingNode } from '../e2e/streaming-node.ts'
import { type RawTarget, sendHttp1 } from './smuggling-client.ts'

const NODES = { group: '', version: 'v1', plural: 'nodes', namespaced: false }
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false }

let node: StreamingNode
let ca: string
let kubelet: RawTarget
let apiServer: RawTarget
let reader: KeyPair
beforeAll(async () => {
  node = await startStreamingNode()
  await node.run('web')
  const certificates = await node.cluster.certificates
  ca = certificates.ca.cert
  reader = certificates.issueClient('reader', [])
  const found = await node.cluster.client.resource<Node>(NODES).get('node-1')
  const port = found.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0
  kubelet = { host: '127.0.0.1', port, ca, ...certificates.admin }
  const { hostname, port: apiPort } = new URL(node.cluster.url!)
  apiServer = { host: hostname, port: Number(apiPort), ca, ...certificates.admin }
  const rules = [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }]
  const create = (plural: string, object: object) =>
    node.cluster.client.resource({ ...RBAC, plural }).create(object as never)
  await create('clusterroles', { metadata: { name: 'reader' }, rules })
  await create('clusterrolebindings', {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: RBAC.group, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ apiGroup: RBAC.group, kind: 'User', name: 'reader' }],
  })
})
afterAll(() => node?.[Symbol.asyncDispose]())

const request = (line: string, ...headers: string[]) => [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
const PROXY = '/api/v1/nodes/node-1/proxy'

describe('HTTP/1.1 to the kubelet', () => {
  test.each<[what: string, bytes: string, statuses: number[]]>([
    ['a request', request('GET /healthz', 'Connection: close'), [200]],
    ['a request in absolute form', request('GET https://other/healthz', 'Connection: close'), [200]],
    ['two slashes, which are no host', request('GET //other/healthz', 'Connection: close'), [404]],
    ['dot segments', request('GET /logs/../healthz', 'Connection: close'), [200]],
    ['a path that cannot be read', request('GET /logs/%zz', 'Connection: close'), [400]],
    ['a length and chunks', request('POST /pods', 'Content-Length: 4', 'Transfer-Encoding: chunked'), [400]],
    ['two lengths', request('POST /pods', 'Content-Length: 2', 'Content-Length: 4'), [400]],
    ['another encoding', request('POST /pods', 'Transfer-Encoding: gzip, chunked'), [501]],
    ['two hosts', request('GET /healthz', 'Host: y'), [400]],
    ['another method', request('DELETE /pods', 'Connection: close'), [405]],
    ['TRACE', request('TRACE /pods', 'Connection: close'), [405]],
    [
      'a body that nothing reads, with a request in it',
      `${request('POST /nothing', 'Content-Length: 100')}${request('GET /healthz')}`,
      [404],
    ],
    [
      'an upgrade with a body',
      `${request('POST /exec/default/web/main?output=1&command=id', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 2')}{}`,
      [400],
    ],
    [
      'an upgrade to h2c',
      request('POST /exec/default/web/main?output=1&command=id', 'Connection: Upgrade', 'Upgrade: h2c'),
      [400],
    ],
    ['an upgrade of what has none', request('GET /pods', 'Connection: Upgrade', 'Upgrade: websocket'), [404]],
  ])('%s', async (_, bytes, statuses) => expect((await sendHttp1(kubelet, bytes)).statuses).toEqual(statuses))

  test('shows nothing to who shows no certificate', async () => {
    const { host, port } = kubelet
    expect((await sendHttp1({ host, port, ca }, request('GET /pods', 'Connection: close'))).statuses).toEqual([401])
  })
})

describe('the right to read nodes/proxy', () => {
  const webSocket = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Protocol: v4.channel.k8s.io',
  ]
  const EXEC = 'exec/default/web/main?output=1&command=id'

  test('lets see', async () => {
    const { statuses } = await sendHttp1({ ...apiServer, ...reader }, request(`GET ${PROXY}/pods`, 'Connection: close'))
    expect(statuses).toEqual([200])
  })

  test.each([
    `GET ${PROXY}/${EXEC}`,
    `GET ${PROXY}/%65xec/default/web/main?output=1&command=id`,
    `POST ${PROXY}/${EXEC}`,
  ])('does not let run: %s', async (line) => {
    expect((await sendHttp1({ ...apiServer, ...reader }, request(line, ...webSocket))).statuses).toEqual([403])
  })

  test('who may create can run', async () => {
    const { statuses, text } = await sendHttp1(apiServer, request(`GET ${PROXY}/${EXEC}`, ...webSocket))
    expect([statuses, text]).toEqual([[101], expect.stringContaining('uid=')])
  })

  test('dot segments do not lead from one path of a node to another', async () => {
    for (const path of [`${PROXY}/../../../secrets`, `${PROXY}/pods/../exec/default/web/main`, `${PROXY}/%2e%2e/x`]) {
      const { statuses } = await sendHttp1(apiServer, request(`GET ${path}`, 'Connection: close'))
      expect(statuses).toEqual([400])
    }
  })
})

describe('TLS', () => {
  const agreed = (target: () => RawTarget, options: object) =>
    new Promise<string>((resolve) => {
      const socket = connect({ ...target(), ...options, rejectUnauthorized: false }, () => {
        resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
        socket.destroy()
      })
      socket.on('error', () => resolve('refused'))
    })

  describe.each([
    ['API server', () => apiServer],
    ['kubelet', () => kubelet],
  ])('of the %s', (_, target) => {
    test.each([
      'ECDHE-ECDSA-AES128-SHA',
      'ECDHE-ECDSA-AES256-SHA',
      'ECDHE-ECDSA-AES128-SHA256',
      'ECDHE-ECDSA-AES256-SHA384',
      'AES128-GCM-SHA256',
    ])('refuses %s', async (ciphers) => {
      expect(await agreed(target, { ciphers, maxVersion: 'TLSv1.2' })).toBe('refused')
    })

    test('refuses TLS 1.1', async () => {
      const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
      expect(await agreed(target, old)).toBe('refused')
    })

    test.each([
      ['TLSv1.2', 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256'],
      ['TLSv1.3', 'TLSv1.3 TLS_AES_256_GCM_SHA384'],
    ])('agrees to %s', async (maxVersion, expected) => {
      expect(await agreed(target, { maxVersion })).toBe(expected)
    })
  })
})
