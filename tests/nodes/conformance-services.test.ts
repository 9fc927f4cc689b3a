/** Pods of two nodes that talk: to each other, to Services, by names, through the nodes and through the API server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { type Json, listAt } from '../tools/json.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, IMAGE, isReady, pod, sh } from './conformance-node.ts'
import { guestbook } from './guestbook.ts'

/** Answers its name over HTTP and UDP. */
const SERVER = `
  const name = process.env.HOSTNAME
  const answer = (port) => require('http').createServer((request, response) => {
    const { url, method } = request
    response.end(url.startsWith('/echo') ? method + ' ' + url : name + ':' + port)
  }).listen(port)
  answer(8080)
  answer(8081)
  const udp = require('dgram').createSocket('udp4')
  udp.on('message', (_, from) => udp.send(name, from.port, from.address))
  udp.bind(8080)`
const server = (name: string, labels: object, spec: object = {}) =>
  pod(
    name,
    {
      name: 'main',
      image: IMAGE,
      command: ['node', '-e', SERVER],
      env: [{ name: 'HOSTNAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
    },
    spec,
    { labels },
  )
/** The first node is 172.30.0.2. */
const on = (node: string) => ({ nodeSelector: { 'kubernetes.io/hostname': node } })
const service = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec })
const WEB = { selector: { app: 'web' } }
const HTTP = { name: 'http', port: 80, targetPort: 8080 }

const UDP_QUESTION = `
  const [host, port] = process.argv.slice(1)
  const udp = require('dgram').createSocket('udp4')
  udp.on('message', (text) => { console.log(String(text)); udp.close() })
  udp.send('?', Number(port), host)
  setTimeout(() => process.exit(1), 3000).unref()`
const NAME_ONLY = {
  type: 'ExternalName',
  externalName: 'web.default.svc.cluster.local',
  clusterIP: null,
  clusterIPs: null,
  ports: null,
}

asRoot('pods that talk', () => {
  let node: ConformanceNode
  const addresses = new Map<string, string>()
  beforeAll(async () => {
    node = await ConformanceNode.up('--nodes', '2')
    await node.apply(
      server('web-1', { app: 'web' }, { hostname: 'first', subdomain: 'headless', ...on('node-1') }),
      server('web-2', { app: 'web' }, on('node-2')),
      pod('client', sh('sleep 1000'), on('node-1')),
      pod('client-2', sh('sleep 1000'), on('node-2')),
      pod('client-of-node', sh('sleep 1000'), {
        ...{ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
        ...on('node-2'),
      }),
      hostPortPod('host-port-1', 'TCP', ''),
      service('web', { ...WEB, ports: [HTTP, { name: 'second', port: 81, targetPort: 8081 }] }),
      service('headless', { ...WEB, clusterIP: 'None', ports: [HTTP] }),
      service('mixed', {
        ...WEB,
        ports: [
          { ...HTTP, name: 'tcp' },
          { ...HTTP, name: 'udp', protocol: 'UDP' },
        ],
      }),
      service('node-port', { ...WEB, type: 'NodePort', ports: [{ ...HTTP, nodePort: 30080 }] }),
      service('sticky', { ...WEB, sessionAffinity: 'ClientIP', ports: [HTTP] }),
      service('sticky-node-port', {
        ...WEB,
        type: 'NodePort',
        sessionAffinity: 'ClientIP',
        ports: [{ ...HTTP, nodePort: 30081 }],
      }),
      service('alias', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
      service('by-hand', { ports: [{ name: 'a', port: 80 }] }),
    )
    for (const name of ['web-1', 'web-2', 'client', 'client-2', 'client-of-node', 'host-port-1'])
      addresses.set(name, (await node.until(name, isReady)).status?.podIP ?? '')
    await node.apply(slice('by-hand-1', [addresses.get('web-1')!]), slice('by-hand-2', [addresses.get('web-2')!]))
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  const ask = (url: string, from = 'client') => node.exec(from, 'curl', '-s', '-m', '3', url)
  const askUdp = async (host: string, port: number, from = 'client') =>
    (await node.exec(from, 'node', '-e', UDP_QUESTION, '--', host, String(port))).trim()
  /** Twenty answers with one exec. */
  const askMany = async (url: string, from = 'client') => {
    const script = `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do curl -s -m 3 ${url}; echo; done`
    return (await node.exec(from, 'sh', '-c', script)).trim().split('\n')
  }
  const both = (port: number) => new Set([`web-1:${port}`, `web-2:${port}`])

  test.each(['client', 'client-2', 'client-of-node'])('%s reaches pods over TCP and UDP', async (from) => {
    for (const name of ['web-1', 'web-2']) {
      const address = addresses.get(name)!
      expect(await ask(`http://${address}:8080`, from)).toBe(`${name}:8080`)
      expect(await askUdp(address, 8080, from)).toBe(name)
    }
  })

  test.each([
    ['a Service', 'http://web', 8080],
    ['its other port', 'http://web:81', 8081],
    ['its longer name', 'http://web.default.svc', 8080],
    ['its full name', 'http://web.default.svc.cluster.local', 8080],
    ['a headless Service', 'http://headless:8080', 8080],
    ['another name for it', 'http://alias', 8080],
    ['a NodePort', 'http://172.30.0.2:30080', 8080],
    ['a NodePort of the other node', 'http://172.30.0.3:30080', 8080],
    ['slices made by hand', 'http://by-hand', 8080],
  ])('%s', async (_name, url, port) => {
    // One half of the rows is asked from each node.
    const answers = await eventually(
      () => askMany(url, port === 8080 && url.length % 2 === 0 ? 'client-2' : 'client'),
      (all) => !all.includes(''),
    )
    const expected = both(port)
    for (const answer of answers) expect(expected).toContain(answer)
    if (!url.includes('headless')) expect(new Set(answers)).toEqual(expected)
  })

  test('a Service with one port for TCP and UDP', async () => {
    expect(both(8080)).toContain(await ask('http://mixed'))
    const ip = await node.kubectl('get', 'service', 'mixed', '-o', 'jsonpath={.spec.clusterIP}')
    expect(['web-1', 'web-2']).toContain(await askUdp(ip, 80))
  })

  test.each(['http://sticky', 'http://172.30.0.2:30081'])('%s: the same client, the same pod', async (url) => {
    expect(new Set(await askMany(url)).size).toBe(1)
  })

  test('affinity can be switched off and on', async () => {
    const set = (affinity: string) =>
      node.kubectl('patch', 'service', 'sticky', '-p', JSON.stringify({ spec: { sessionAffinity: affinity } }))
    await set('None')
    await eventually(
      async () => new Set(await askMany('http://sticky')).size,
      (size) => size === 2,
    )
    await set('ClientIP')
    await eventually(
      async () => new Set(await askMany('http://sticky')).size,
      (size) => size === 1,
    )
  })

  test('a pod by its host name and subdomain', async () => {
    const lookup = (name: string) => node.exec('client', 'getent', 'hosts', name)
    expect(await lookup('first.headless')).toContain(addresses.get('web-1'))
    expect(await lookup('first.headless.default.svc.cluster.local')).toContain(addresses.get('web-1'))
    const own = await node.exec('web-1', 'getent', 'hosts', 'first.headless.default.svc.cluster.local')
    expect(own).toContain(addresses.get('web-1'))
  })

  test('a Service may become a name, and a name a Service', async () => {
    const change = (name: string, spec: object) =>
      node.kubectl('patch', 'service', name, '--type=merge', '-p', JSON.stringify({ spec }))
    await change('alias', { type: 'ClusterIP', externalName: null, ...WEB, ports: [HTTP] })
    const ip = await node.kubectl('get', 'service', 'alias', '-o', 'jsonpath={.spec.clusterIP}')
    await eventually(
      () => node.exec('client', 'getent', 'hosts', 'alias'),
      (text) => text.includes(ip),
    )
    expect(both(8080)).toContain(await ask('http://alias'))
    await change('mixed', NAME_ONLY)
    await eventually(
      () => ask('http://mixed'),
      (answer) => both(8080).has(answer),
    )
    await change('node-port', NAME_ONLY)
    await eventually(
      () => ask('http://node-port'),
      (answer) => both(8080).has(answer),
    )
  })

  test('the names of the cluster itself', async () => {
    for (const name of ['kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'])
      expect(await node.exec('client', 'getent', 'hosts', name)).toContain('10.96.0.1')
    expect(await node.exec('client', 'cat', '/etc/hosts')).toContain(`${addresses.get('client')}\tclient`)
  })

  test('slices with a port each', async () => {
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ]
    const [first, second] = [addresses.get('web-1')!, addresses.get('web-2')!]
    await node.apply(
      service('two-ports', { ports }),
      slice('two-ports-a', [first], 'two-ports', [{ name: 'a', port: 8080 }]),
      slice('two-ports-b', [second], 'two-ports', [{ name: 'b', port: 8081 }]),
    )
    await eventually(
      () => ask('http://two-ports'),
      (answer) => answer === 'web-1:8080',
    )
    await eventually(
      () => ask('http://two-ports:81'),
      (answer) => answer === 'web-2:8081',
    )
  })

  test('a port of the node leads to a pod; other protocols and addresses are other ports', async () => {
    await node.apply(hostPortPod('host-port-2', 'UDP', ''))
    await node.until('host-port-2', isReady)
    expect(await ask('http://172.30.0.2:54323', 'client-of-node')).toBe('host-port-1:8080')
    expect(await askUdp('172.30.0.2', 54323, 'client-of-node')).toBe('host-port-2')
  })

  test('the API server leads to pods and Services', async () => {
    const raw = (path: string) => node.kubectl('get', '--raw', `/api/v1/namespaces/default/${path}`)
    expect(await raw('pods/web-1:8080/proxy/')).toBe('web-1:8080')
    expect(await raw('pods/http:web-2:8081/proxy/')).toBe('web-2:8081')
    expect(both(8080)).toContain(await raw('services/web:http/proxy/'))
    expect(both(8081)).toContain(await raw('services/http:web:second/proxy/'))
  })

  test.each(['pods/web-2:8080', 'services/web:http'])('%s: every method passes the API server', async (target) => {
    const proxy = await node.proxy(`/api/v1/namespaces/default/${target}/proxy`)
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT']) {
      const answer = await proxy(method, '/echo/some/path?method=1')
      expect([answer.status, answer.text]).toEqual([200, `${method} /echo/some/path?method=1`])
    }
    expect(await proxy('HEAD', '/echo')).toMatchObject({ status: 200, text: '' })
    for (const method of ['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT']) {
      expect(await proxy(method, '?method=1')).toMatchObject({ status: 200 })
    }
    // Relative links of a page would lead elsewhere without the last slash.
    for (const method of ['GET', 'HEAD']) expect(await proxy(method, '?method=1')).toMatchObject({ status: 301 })
  })

  test('a controller is made, scaled and taken away, and each of its pods serves', async () => {
    const labels = { app: 'demo' }
    const { containers } = server('x', labels).spec
    const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } }
    const spec = { replicas: 2, selector: labels, template }
    await node.apply({ apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'demo' }, spec })
    const names = async () => [...(await node.pods()).keys()].filter((name) => name.startsWith('demo-'))
    const serving = async (count: number) => {
      const ready = ['wait', 'rc/demo', `--for=jsonpath={.status.readyReplicas}=${count}`, '--timeout=60s']
      await node.kubectl(...ready)
      const all = await eventually(names, (found) => found.length === count)
      for (const name of all) {
        const said = await node.kubectl('get', '--raw', `/api/v1/namespaces/default/pods/${name}:8080/proxy/`)
        expect(said).toBe(`${name}:8080`)
      }
    }
    await serving(2)
    for (const count of [1, 2]) {
      await node.kubectl('scale', 'rc', 'demo', `--replicas=${count}`, '--timeout=5m')
      await serving(count)
    }
    await node.kubectl('delete', 'rc', 'demo', '--timeout=30s')
    await eventually(names, (found) => found.length === 0)
  }, 120_000)

  test('the API itself, with the token of the pod', async () => {
    const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
    const script = `curl -s --cacert ${folder}/ca.crt -H "Authorization: Bearer $(cat ${folder}/token)" https://kubernetes.default.svc`
    expect(JSON.parse(await node.exec('client', 'sh', '-c', `${script}/version`))).toHaveProperty('gitVersion')
    const discovery = JSON.parse(await node.exec('client', 'sh', '-c', `${script}/.well-known/openid-configuration`))
    expect(discovery).toHaveProperty('jwks_uri')
    expect(await node.exec('client', 'cat', `${folder}/namespace`)).toBe('default')
  })

  test('the API has Endpoints and slices like any Service, and pods reach it there', async () => {
    const read = async (...args: string[]) => JSON.parse(await node.kubectl('get', ...args, '-o', 'json')) as Json
    const subsets = listAt(await read('endpoints', 'kubernetes'), 'subsets')
    const slices = listAt(await read('endpointslices', '-l', 'kubernetes.io/service-name=kubernetes'), 'items')
    const inSlices = slices.flatMap((one) => listAt(one, 'endpoints').flatMap(({ addresses }) => addresses as string[]))
    const inEndpoints = subsets.flatMap((one) => listAt(one, 'addresses').map(({ ip }) => ip))
    expect(inEndpoints).not.toEqual([])
    expect(inSlices).toEqual(inEndpoints)
    const [port] = listAt(subsets[0], 'ports')
    expect(port).toMatchObject({ name: 'https', protocol: 'TCP' })
    expect(listAt(slices[0], 'ports')).toEqual([port])
    const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
    const script = `curl -s --cacert ${folder}/ca.crt -H "Authorization: Bearer $(cat ${folder}/token)" https://${inEndpoints[0]}:${port?.port}/version`
    expect(JSON.parse(await node.exec('client', 'sh', '-c', script))).toHaveProperty('gitVersion')
  })

  test('an application of several parts works, and is taken away', async () => {
    await node.apply(...guestbook)
    for (const { metadata } of guestbook.filter(({ kind }) => kind === 'Deployment'))
      await node.kubectl('rollout', 'status', `deployment/${metadata.name}`, '--timeout=90s')
    const frontend = '/api/v1/namespaces/default/services/frontend/proxy/guestbook?'
    const cmd = (query: string) => node.kubectl('get', '--raw', `${frontend}${query}`)
    await eventually(
      () => cmd('cmd=set&key=messages&value=TestEntry'),
      (answer) => answer === '{"message":"Updated"}',
    )
    await eventually(
      () => cmd('cmd=get&key=messages'),
      (answer) => answer === '{"data":"TestEntry"}',
    )
    const names = guestbook.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`)
    await node.kubectl('delete', ...names, '--wait=true')
    const pods = async () =>
      [...(await node.pods()).values()].filter(({ metadata }) => metadata.labels?.of === 'guestbook')
    await eventually(pods, (left) => left.length === 0)
  })

  test('no more traffic to who is not there', async () => {
    await node.kubectl('delete', 'pod', 'web-2')
    await eventually(
      async () => new Set(await askMany('http://web')),
      (answers) => answers.size === 1,
    )
    expect(new Set(await askMany('http://web'))).toEqual(new Set(['web-1:8080']))
  })
})

function hostPortPod(name: string, protocol: string, hostIP: string) {
  const ports = [{ containerPort: 8080, hostPort: 54_323, protocol, ...(hostIP && { hostIP }) }]
  const containers = server(name, {}).spec.containers.map((one) => ({ ...one, ports }))
  return pod(name, containers, on('node-1'))
}

function slice(name: string, ips: string[], of = 'by-hand', ports: object[] = [{ name: 'a', port: 8080 }]) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': of } },
    addressType: 'IPv4',
    ports: ports.map((port) => ({ ...port, protocol: 'TCP' })),
    endpoints: ips.map((ip) => ({ addresses: [ip] })),
  }
}
