import { request as httpsRequest } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { listAt, textAt } from '../tools/json.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** What must not work: each row says the code, the reason and a word of the message, and that nothing was written. */

const NAMESPACE = 'bad-input'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const server = useCluster(NAMESPACE)

const json = 'application/json'
const pod = (spec: object) => JSON.stringify({ metadata: { name: 'x' }, spec })
const container = { name: 'c', image: 'i' }
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const map = (body: object) => JSON.stringify({ metadata: { name: 'x' }, ...body })

type Row = [
  title: string,
  method: string,
  path: string,
  type: string,
  body: string | Buffer,
  code: number,
  reason: string,
  message: RegExp,
]

const BODIES: Row[] = [
  ['no JSON', 'POST', CONFIG_MAPS, json, '{"metadata": {', 400, 'BadRequest', /json|unexpected|decode/i],
  ['nothing', 'POST', CONFIG_MAPS, json, '', 400, 'BadRequest', /./],
  ['an array', 'POST', CONFIG_MAPS, json, '[]', 400, 'BadRequest', /./],
  ['a number', 'POST', CONFIG_MAPS, json, '5', 400, 'BadRequest', /./],
  ['null', 'POST', CONFIG_MAPS, json, 'null', 400, 'BadRequest', /./],
  ['two documents', 'POST', CONFIG_MAPS, json, '{} {}', 400, 'BadRequest', /./],
  [
    'invalid UTF-8',
    'POST',
    CONFIG_MAPS,
    json,
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    400,
    'BadRequest',
    /./,
  ],
  [
    'another kind',
    'POST',
    CONFIG_MAPS,
    json,
    '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}',
    400,
    'BadRequest',
    /Secret/,
  ],
  [
    'another version',
    'POST',
    CONFIG_MAPS,
    json,
    '{"apiVersion":"apps/v1","kind":"ConfigMap","metadata":{"name":"x"}}',
    400,
    'BadRequest',
    /apps\/v1/,
  ],
  ['metadata as text', 'POST', CONFIG_MAPS, json, '{"metadata":"x"}', 400, 'BadRequest', /metadata/],
  [
    'a number as a string value',
    'POST',
    CONFIG_MAPS,
    json,
    map({ data: { a: 1 } }),
    400,
    'BadRequest',
    /cannot unmarshal number into Go struct field ConfigMap\.data of type string/,
  ],
  [
    'a string as replicas',
    'POST',
    DEPLOYMENTS,
    json,
    map({ spec: { replicas: 'two' } }),
    400,
    'BadRequest',
    /cannot unmarshal string into Go struct field DeploymentSpec\.spec\.replicas of type int32/,
  ],
  ['a fraction as replicas', 'POST', DEPLOYMENTS, json, map({ spec: { replicas: 1.5 } }), 400, 'BadRequest', /1\.5/],
  ['too large a number', 'POST', DEPLOYMENTS, json, map({ spec: { replicas: 2 ** 40 } }), 400, 'BadRequest', /int32/],
  ['a deep body', 'POST', CONFIG_MAPS, json, deep(20_000), 400, 'BadRequest', /./],
  ['no name', 'POST', CONFIG_MAPS, json, '{"metadata":{}}', 422, 'Invalid', /name or generateName is required/],
  [
    'a bad name',
    'POST',
    CONFIG_MAPS,
    json,
    '{"metadata":{"name":"Not_A_Name"}}',
    422,
    'Invalid',
    /metadata\.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain/,
  ],
  [
    'another namespace',
    'POST',
    CONFIG_MAPS,
    json,
    '{"metadata":{"name":"x","namespace":"default"}}',
    400,
    'BadRequest',
    /the namespace of the provided object does not match the namespace sent on the request/,
  ],
  [
    'a version on creation',
    'POST',
    CONFIG_MAPS,
    json,
    '{"metadata":{"name":"x","resourceVersion":"5"}}',
    400,
    'BadRequest',
    /resourceVersion should not be set on objects to be created/,
  ],
  [
    'a bad label',
    'POST',
    CONFIG_MAPS,
    json,
    map({ metadata: { name: 'x', labels: { 'a b': 'c' } } }),
    422,
    'Invalid',
    /metadata\.labels: Invalid value: "a b"/,
  ],
  ['a bad key', 'POST', CONFIG_MAPS, json, map({ data: { '': 'x' } }), 422, 'Invalid', /data\[\]: Invalid value: ""/],
  ['an empty pod', 'POST', PODS, json, pod({}), 422, 'Invalid', /spec\.containers: Required value/],
  [
    'a pod without image',
    'POST',
    PODS,
    json,
    pod({ containers: [{ name: 'a' }] }),
    422,
    'Invalid',
    /spec\.containers\[0\]\.image: Required value/,
  ],
  [
    'a port out of range',
    'POST',
    PODS,
    json,
    pod({ containers: [{ ...container, ports: [{ containerPort: 70000 }] }] }),
    422,
    'Invalid',
    /spec\.containers\[0\]\.ports\[0\]\.containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive/,
  ],
  [
    'a bad quantity',
    'POST',
    PODS,
    json,
    pod({ containers: [{ ...container, resources: { limits: { cpu: 'much' } } }] }),
    400,
    'BadRequest',
    /quantit/,
  ],
  [
    'requests over limits',
    'POST',
    PODS,
    json,
    pod({ containers: [{ ...container, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }] }),
    422,
    'Invalid',
    /must be less than or equal to cpu limit of 1/,
  ],
  [
    'an unsupported value',
    'POST',
    PODS,
    json,
    pod({ restartPolicy: 'Sometimes', containers: [container] }),
    422,
    'Invalid',
    /spec\.restartPolicy: Unsupported value: "Sometimes"/,
  ],
  [
    'a duplicate container',
    'POST',
    PODS,
    json,
    pod({ containers: [container, container] }),
    422,
    'Invalid',
    /spec\.containers\[1\]\.name: Duplicate value: "c"/,
  ],
  [
    'a selector that misses the template',
    'POST',
    DEPLOYMENTS,
    json,
    map({
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'c' } }, spec: { containers: [container] } },
      },
    }),
    422,
    'Invalid',
    /`selector` does not match template `labels`/,
  ],
  ['plain text', 'POST', CONFIG_MAPS, 'text/plain', '{}', 415, 'UnsupportedMediaType', /./],
  ['a form', 'POST', CONFIG_MAPS, 'application/x-www-form-urlencoded', 'a=b', 415, 'UnsupportedMediaType', /./],
  [
    'a bad dryRun',
    'POST',
    `${CONFIG_MAPS}?dryRun=Some`,
    json,
    map({}),
    422,
    'Invalid',
    /dryRun: Unsupported value: "Some"/,
  ],
  [
    'an endless fieldManager',
    'POST',
    `${CONFIG_MAPS}?fieldManager=${'a'.repeat(200)}`,
    json,
    map({}),
    422,
    'Invalid',
    /fieldManager/,
  ],
  [
    'a PUT of nothing',
    'PUT',
    `${CONFIG_MAPS}/absent`,
    json,
    '{"metadata":{"name":"absent"}}',
    404,
    'NotFound',
    /configmaps "absent" not found/,
  ],
  [
    'a PUT of another name',
    'PUT',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"metadata":{"name":"x"}}',
    400,
    'BadRequest',
    /the name of the object \(x\) does not match the name on the URL \(kept\)/,
  ],
  [
    'a PUT with a wrong uid',
    'PUT',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"metadata":{"name":"kept","uid":"11111111-1111-4111-8111-111111111111"}}',
    409,
    'Conflict',
    /uid/i,
  ],
  [
    'a PUT with a version from nowhere',
    'PUT',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"metadata":{"name":"kept","resourceVersion":"1"}}',
    409,
    'Conflict',
    /the object has been modified/,
  ],
  [
    'a PUT with a version that is none',
    'PUT',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"metadata":{"name":"kept","resourceVersion":"x"}}',
    400,
    'BadRequest',
    /resource version/,
  ],
  ['a POST to an object', 'POST', `${CONFIG_MAPS}/kept`, json, map({}), 405, 'MethodNotAllowed', /./],
  ['a PATCH without a type', 'PATCH', `${CONFIG_MAPS}/kept`, json, '{}', 415, 'UnsupportedMediaType', /./],
  [
    'a patch that is no JSON',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/merge-patch+json',
    '{',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a merge patch that is a list',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/merge-patch+json',
    '[]',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a JSON patch that is an object',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/json-patch+json',
    '{}',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a JSON patch to nowhere',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/json-patch+json',
    '[{"op":"replace","path":"/a/b/c","value":1}]',
    422,
    'Invalid',
    /./,
  ],
  [
    'a JSON patch with a failing test',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/json-patch+json',
    '[{"op":"test","path":"/data/a","value":"9"}]',
    422,
    'Invalid',
    /./,
  ],
  [
    'a JSON patch of an unknown op',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/json-patch+json',
    '[{"op":"explode","path":"/data"}]',
    422,
    'Invalid',
    /./,
  ],
  [
    'a JSON patch of 10,001 operations',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/json-patch+json',
    `[${Array(10_001).fill('{"op":"test","path":"/data/a","value":"1"}').join(',')}]`,
    413,
    'RequestEntityTooLarge',
    /10000|10001/,
  ],
  [
    'a strategic patch with a bad directive',
    'PATCH',
    `${DEPLOYMENTS}/kept`,
    'application/strategic-merge-patch+json',
    '{"spec":{"$patch":"explode"}}',
    400,
    'BadRequest',
    /explode/,
  ],
  [
    'an apply without fieldManager',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/apply-patch+yaml',
    '{"apiVersion":"v1","kind":"ConfigMap"}',
    422,
    'Invalid',
    /fieldManager: Required value: is required for apply patch/,
  ],
  [
    'an apply of another name',
    'PATCH',
    `${CONFIG_MAPS}/kept?fieldManager=x`,
    'application/apply-patch+yaml',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}',
    400,
    'BadRequest',
    /./,
  ],
  [
    'an apply of a bad YAML',
    'PATCH',
    `${CONFIG_MAPS}/kept?fieldManager=x`,
    'application/apply-patch+yaml',
    'a: [',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a patch that renames',
    'PATCH',
    `${CONFIG_MAPS}/kept`,
    'application/merge-patch+json',
    '{"metadata":{"name":"other"}}',
    400,
    'BadRequest',
    /does not match the name/,
  ],
  [
    'a force that is not for this',
    'PATCH',
    `${CONFIG_MAPS}/kept?force=true`,
    'application/merge-patch+json',
    '{}',
    422,
    'Invalid',
    /force: Forbidden: may not be specified for non-apply patch/,
  ],
  [
    'bad DeleteOptions',
    'DELETE',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"propagationPolicy":"Sideways"}',
    422,
    'Invalid',
    /propagationPolicy: Unsupported value/,
  ],
  [
    'two ways to cascade',
    'DELETE',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"orphanDependents":true,"propagationPolicy":"Background"}',
    422,
    'Invalid',
    /may not be set at the same time|orphanDependents and deletionPropagation cannot be both set/,
  ],
  [
    'another kind of options',
    'DELETE',
    `${CONFIG_MAPS}/kept`,
    json,
    '{"kind":"ConfigMap","apiVersion":"v1"}',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a grace period that is no number',
    'DELETE',
    `${CONFIG_MAPS}/kept?gracePeriodSeconds=soon`,
    json,
    '',
    400,
    'BadRequest',
    /./,
  ],
  [
    'a scale below zero',
    'PUT',
    `${DEPLOYMENTS}/kept/scale`,
    json,
    '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"kept"},"spec":{"replicas":-1}}',
    422,
    'Invalid',
    /spec\.replicas/,
  ],
  [
    'an unknown subresource',
    'GET',
    `${CONFIG_MAPS}/kept/scale`,
    json,
    '',
    404,
    'NotFound',
    /the server could not find the requested resource/,
  ],
  [
    'status of a kind without',
    'GET',
    `${CONFIG_MAPS}/kept/status`,
    json,
    '',
    404,
    'NotFound',
    /the server could not find the requested resource/,
  ],
]

const PATHS: [path: string, code: number, reason: string][] = [
  ['/nowhere', 404, 'NotFound'],
  ['/api/v2', 404, 'NotFound'],
  ['/api/v1/nothings', 404, 'NotFound'],
  ['/apis/none.example.com', 404, 'NotFound'],
  ['/apis/apps/v9/deployments', 404, 'NotFound'],
  ['/api/v1/namespaces/absent/configmaps/x', 404, 'NotFound'],
  ['/api/v1/namespaces/a%2Fb/configmaps', 400, 'BadRequest'],
  ['/api/v1/namespaces/default/../../../etc/passwd', 400, 'BadRequest'],
  ['/api/v1/namespaces/%2e%2e/configmaps/%2e%2e', 400, 'BadRequest'],
  ['/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets', 400, 'BadRequest'],
  ['/api/v1/namespaces/default/configmaps/__proto__', 404, 'NotFound'],
  ['/apis/__proto__/v1/x', 404, 'NotFound'],
  ['/apis/constructor/toString', 404, 'NotFound'],
  ['/api/v1/configmaps?labelSelector=a%3D%3D%3Db', 400, 'BadRequest'],
  ['/api/v1/configmaps?labelSelector=%21%21a', 400, 'BadRequest'],
  ['/api/v1/configmaps?labelSelector=a%20in%20(', 400, 'BadRequest'],
  ['/api/v1/configmaps?fieldSelector=spec.colour%3Dred', 400, 'BadRequest'],
  ['/api/v1/configmaps?fieldSelector=metadata.name', 400, 'BadRequest'],
  ['/api/v1/configmaps?resourceVersion=-1', 400, 'BadRequest'],
  ['/api/v1/configmaps?limit=x', 400, 'BadRequest'],
  ['/api/v1/configmaps?timeoutSeconds=x', 400, 'BadRequest'],
  ['/api/v1/configmaps?continue=%00%01', 400, 'BadRequest'],
]

describe('bodies', () => {
  test('two objects to break', async () => {
    expectStatus(await server.api.create(CONFIG_MAPS, { metadata: { name: 'kept' }, data: { a: '1' } }), 201)
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } }
    const spec = { selector: { matchLabels: { a: 'b' } }, template }
    expectStatus(await server.api.create(DEPLOYMENTS, { metadata: { name: 'kept' }, spec }), 201)
  })

  test.each(BODIES)('%s', async (_title, method, path, type, body, code, reason, message) => {
    const before = (await server.api.get(`/api/v1/namespaces/${NAMESPACE}/configmaps`)).object
    const headers = { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }
    const answer = expectStatus(await server.api.request(method, path, { body, headers }), code)
    expect(answer.object).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code })
    expect(textAt(answer.object, 'message')).toMatch(message)
    const after = (await server.api.get(`/api/v1/namespaces/${NAMESPACE}/configmaps`)).object
    expect(listAt(after, 'items')).toEqual(listAt(before, 'items'))
    expectStatus(await server.api.get(`${PODS}/x`), 404)
  })
})

describe('paths and queries', () => {
  test.each(PATHS)('%s', async (path, code, reason) => {
    const answer = expectStatus(await server.api.get(path), code)
    expect(answer.object).toMatchObject({ kind: 'Status', status: 'Failure', reason, code })
  })

  test.each(['BREW', 'TRACE', 'CONNECTX'])('the verb %s', async (verb) => {
    const answer = await server.api.request(verb, CONFIG_MAPS)
    expect([400, 405, 501]).toContain(answer.status)
  })
})

describe('bodies with a will of their own', () => {
  test('__proto__ and constructor are unknown fields and poison nothing', async () => {
    const body =
      '{"metadata":{"name":"proto"},"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"data":{"__proto__":"x"}}'
    const answer = await server.api.request('POST', CONFIG_MAPS, { body, headers: { 'content-type': json } })
    expect([201, 422]).toContain(answer.status)
    expect(answer.text).not.toContain('polluted')
    const patch =
      '{"__proto__":{"polluted":"yes"},"metadata":{"__proto__":{"polluted":"yes"},"labels":{"__proto__":"polluted"}}}'
    await server.api.request('PATCH', `${CONFIG_MAPS}/kept`, {
      body: patch,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    const pointer =
      '[{"op":"add","path":"/__proto__/polluted","value":"yes"},{"op":"add","path":"/constructor/prototype/polluted","value":"yes"}]'
    await server.api.request('PATCH', `${CONFIG_MAPS}/kept`, {
      body: pointer,
      headers: { 'content-type': 'application/json-patch+json' },
    })
    const fresh = await server.api.create(CONFIG_MAPS, { metadata: { name: 'fresh' } })
    expectStatus(fresh, 201)
    expect(fresh.text).not.toContain('polluted')
  })

  test('3 MiB and a byte is too large', async () => {
    const body = JSON.stringify({ metadata: { name: 'huge' }, data: { a: 'x'.repeat(3 * 1024 * 1024) } })
    const answer = await server.api.request('POST', CONFIG_MAPS, { body, headers: { 'content-type': json } })
    expectStatus(answer, 413)
    expect(answer.object).toMatchObject({ kind: 'Status', reason: 'RequestEntityTooLarge', code: 413 })
  })

  test('a ConfigMap over 1 MiB is invalid', async () => {
    const body = { metadata: { name: 'big' }, data: { a: 'x'.repeat(1024 * 1024 + 1) } }
    const answer = expectStatus(await server.api.create(CONFIG_MAPS, body), 422)
    expect(textAt(answer.object, 'message')).toContain('Too long: may not be more than 1048576 bytes')
  })

  test('a YAML bomb stays small', async () => {
    const lines = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
    for (const [to, from] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'].map((pair) => [...pair])) {
      lines.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(',')}]`)
    }
    const answer = await server.api.request('POST', CONFIG_MAPS, {
      body: lines.join('\n'),
      headers: { 'content-type': 'application/yaml' },
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  })
})

describe('connections', () => {
  test('without a certificate everything is refused', async () => {
    const url = new URL(server.api.server)
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { host: url.hostname, port: url.port, path: '/api/v1/namespaces', ca: server.api.credentials.ca }
      httpsRequest(options, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect([401, 403]).toContain(status)
  })

  test('an upload that breaks off writes nothing and harms nobody', async () => {
    const url = new URL(server.api.server)
    const { ca, cert, key } = server.api.credentials
    await new Promise<void>((resolve, reject) => {
      const socket = connectTls(
        { host: url.hostname, port: Number(url.port), ca, cert, key, ALPNProtocols: ['http/1.1'] },
        () => {
          socket.write(
            `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"metadata":{"name":"torn"}`,
          )
          setTimeout(() => socket.destroy(), 50)
        },
      )
      socket.on('close', () => resolve())
      socket.on('error', reject)
    })
    expectStatus(await server.api.get(`${CONFIG_MAPS}/torn`), 404)
  })

  test.each([
    '\x00\x01\x02\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage',
  ])('garbage instead of HTTP: %j', async (garbage) => {
    const url = new URL(server.api.server)
    const { ca, cert, key } = server.api.credentials
    await new Promise<void>((resolve) => {
      const socket = connectTls({ host: url.hostname, port: Number(url.port), ca, cert, key }, () => {
        socket.end(garbage)
      })
      socket.resume()
      socket.setTimeout(5_000, () => socket.destroy())
      socket.on('close', () => resolve())
      socket.on('error', () => resolve())
    })
    expectStatus(await server.api.get('/readyz'), 200)
  })
})
